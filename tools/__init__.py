"""Generated documents and events, and the trimming of the artifact."""
