"""The `verify` command: sends messages, and judges the outcome."""
