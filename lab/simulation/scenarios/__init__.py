"""The start of a history: its messages, workers, latencies and faults."""
