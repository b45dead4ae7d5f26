"""The invariants of a history, their violations, and the conditions that it met."""
