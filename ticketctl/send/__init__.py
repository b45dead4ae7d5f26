"""`send` and `send-file`: read, complete and check requests, and queue them."""
