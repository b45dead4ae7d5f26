"""The scheduler, its choices, and the exhaustive exploration."""
