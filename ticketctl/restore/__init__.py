"""The restore: writes back the lines of an export that the tables lack."""
