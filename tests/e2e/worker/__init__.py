"""The deployed worker on the local system."""
