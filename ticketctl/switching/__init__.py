"""Stops the worker and starts it again: all of its event source mappings."""
