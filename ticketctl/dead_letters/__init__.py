"""`dead-letters`: list, show, edit, redrive and delete, without losing a message."""

from typing import Final

from ticket_numbering.contract.errors import PoisonMessageError

POISON: Final = [error.__name__ for error in PoisonMessageError.__subclasses__()]

REASONS: Final = (*sorted(POISON), "received-too-often")
"""Every reason, in the form of an argument."""
