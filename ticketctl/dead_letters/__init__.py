"""What `dead-letters` does: looks, mends, sends back, deletes, and loses nothing."""
