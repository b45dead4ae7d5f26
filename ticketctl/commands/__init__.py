"""The commands: each reads its options, calls the tool that does it, and prints."""
