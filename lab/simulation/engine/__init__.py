"""The scheduler and its choices."""
