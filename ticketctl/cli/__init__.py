"""Prompts, output, errors and exit statuses."""
