"""`dead-letters`: list, show, edit, redrive and delete, without losing a message."""
