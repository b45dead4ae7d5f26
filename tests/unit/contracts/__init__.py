"""The documents that are generated from the models."""
