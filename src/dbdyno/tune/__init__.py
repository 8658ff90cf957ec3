"""The closed loop: contract + knobs + objective -> trials."""
