"""Other programs' files, as lines for `import` and requests for `send-file`."""
