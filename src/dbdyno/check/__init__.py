"""Facts to verdicts: what a server and its machine are like, held against rules that are found by being there."""
