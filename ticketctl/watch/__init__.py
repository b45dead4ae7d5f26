"""The `watch` command: shows announcements, and leaves nothing behind."""
