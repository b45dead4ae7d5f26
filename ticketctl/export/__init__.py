"""`export`: every item of the tickets' table, once."""
