"""Command-line tools to operate, watch and test the ticket numbering system.

Nothing here ships with the worker, and only the worker's contract is used.

A module of `commands` declares options, and the package of the same name does the work;
it imports no other such package unless it composes them. All of them share `ledger`,
`files`, `aws` and `cli`.
"""

__version__ = "0.1.0"

PROGRAM = "ticketctl"
"""The command line of a person who names no stack."""
