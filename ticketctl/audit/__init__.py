"""The audit: reads both tables, and reports what does not fit."""
