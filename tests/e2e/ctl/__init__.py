"""The command line on the local system."""
