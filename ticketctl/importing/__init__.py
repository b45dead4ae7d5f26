"""Imports: tickets that come with their numbers."""
