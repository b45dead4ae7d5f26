"""The commands that seed, import and void."""
