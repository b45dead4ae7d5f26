"""The `verify` command: sends messages, and checks the outcome."""
