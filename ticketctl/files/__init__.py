"""Reads and writes the files of commands."""
