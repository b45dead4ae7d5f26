"""The application: options that commands share, prompts, output, exit codes."""
