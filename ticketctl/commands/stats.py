"""The commands that how the system is doing."""
