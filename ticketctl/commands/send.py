"""The commands that send tickets."""
