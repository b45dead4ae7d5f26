"""What `audit` does: reads both tables, and says what does not fit."""
