"""The `verify` command: sends messages, and judges what becomes of them."""
