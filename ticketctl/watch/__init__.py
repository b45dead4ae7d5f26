"""What `watch` does: hears announcements, and leaves nothing behind."""
