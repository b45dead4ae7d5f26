"""The command line, without a network."""
