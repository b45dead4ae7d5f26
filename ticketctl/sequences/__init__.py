"""Seeds, voids and erases beside running workers, without a gap."""
