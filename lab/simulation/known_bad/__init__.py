"""Known-bad algorithms, and correct ones that only cost more."""
