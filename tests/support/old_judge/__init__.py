"""The judge of before, beside the new one for one commit."""
