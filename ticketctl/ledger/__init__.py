"""The ledger: items and records, each parsed once into its kind, and their one judge.

It is pure but for the database of what an audit has read. `item` and `record` parse;
`chain`, `sequence` and `agreement` have the rules of a ticket's hash, of the numbers
around an item, and of a key's record; `judge` asks them all.
"""

from typing import Final

HIGHEST: Final = 10**18 - 1
"""The highest number that the tools accept: far above any sequence, in 64 bits."""
