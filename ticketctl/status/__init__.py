"""`status`: the queues' lengths, and the alarms that are on."""
