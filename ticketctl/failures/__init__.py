"""`failures`: the failures in the worker's log, counted, each with its cure."""
