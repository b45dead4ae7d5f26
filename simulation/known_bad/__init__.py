"""Algorithms that are known to be wrong, and variants that only cost more."""
