"""The `watch` command: shows announcements, and removes its queue at the end."""
