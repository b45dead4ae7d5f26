"""Builders, fakes and test servers."""
