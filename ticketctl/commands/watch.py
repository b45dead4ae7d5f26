"""The commands that watch announcements."""
