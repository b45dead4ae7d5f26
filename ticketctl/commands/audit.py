"""The commands that audit the tables."""
