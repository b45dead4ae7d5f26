"""Looks up tickets: show, list, find."""
