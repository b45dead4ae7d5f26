"""Files that people give, and files that a command writes."""
