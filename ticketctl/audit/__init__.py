"""The audit: reads both tables, and reports contradictions."""
