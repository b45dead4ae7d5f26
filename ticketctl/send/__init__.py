"""`send` and `send-file`: read, complete, check and send requests."""
