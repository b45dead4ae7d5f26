"""The commands that look after dead letters."""
