"""Generated documents and events."""
