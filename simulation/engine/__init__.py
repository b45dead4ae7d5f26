"""Who is next: the scheduler, the choices, and the exhaustive exploration."""
