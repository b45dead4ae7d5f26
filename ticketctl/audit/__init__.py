"""The audit: reads both tables, and reports their contradictions."""
