"""The commands that show, list and find tickets."""
