"""The template and the runbooks that rest on it."""
