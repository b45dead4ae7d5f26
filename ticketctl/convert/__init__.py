"""Converts other programs' files to lines for `import` and `send-file`."""
