"""Tools for people who run, watch and test the ticket numbering system.

Nothing here ships with the worker, and of the worker only its contract is used.

A module of `commands` declares options, and the package of its name does the work; that
knows none of its kind unless it composes them. All of them share `ledger`, `files`,
`aws` and `cli`.
"""

__version__ = "0.1.0"

PROGRAM = "ticketctl"
"""As a person calls it who names no stack."""
