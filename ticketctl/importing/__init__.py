"""Imports: tickets of other systems, which come with their numbers."""
