"""Steady state, intervals of confidence, paired comparison, histograms."""
