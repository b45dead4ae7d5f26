"""A deployed system: its stack, queues and tables."""
