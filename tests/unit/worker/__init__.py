"""The worker, without a network."""
