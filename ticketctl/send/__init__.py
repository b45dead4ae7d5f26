"""What `send` does: reads, checks and completes requests, and queues them."""
