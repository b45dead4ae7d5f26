"""Seed, void and erase: writes beside running workers that leave no gap."""
