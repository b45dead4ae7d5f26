"""The algorithm: a project's numbers, over the port of a store."""
