"""Exhaustive exploration of small configurations, and random walks to check it."""
