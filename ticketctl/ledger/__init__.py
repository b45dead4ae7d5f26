"""The ledger: items and records, each parsed once into its kind, and their one judge.

It is pure except for the database of items that an audit has read. `item` and `record`
parse; `chain`, `sequence` and `agreement` have the rules of a ticket's hash, of the
numbers around an item, and of a key's record; `judge` applies them all.
"""

from typing import Final

HIGHEST: Final = 10**18 - 1
"""The highest number that the tools accept: above any sequence, within 64 bits."""
