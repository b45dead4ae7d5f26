"""Checks the facts of `docs/proof.md` on a real account: `make test-aws`."""
