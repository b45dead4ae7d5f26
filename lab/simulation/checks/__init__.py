"""What a history must keep, what it broke, and the conditions that it met."""
