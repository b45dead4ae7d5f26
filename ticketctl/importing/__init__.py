"""Imports tickets of other systems with their numbers."""
