"""Seed, import and void: writes next to running workers that leave no gap."""
