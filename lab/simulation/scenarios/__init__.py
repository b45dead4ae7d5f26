"""What a history begins with: its messages, workers, latencies and faults."""
