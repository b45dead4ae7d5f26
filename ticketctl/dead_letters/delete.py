"""Deletes dead letters for ever."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ticketctl.aws.stack import System
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import console, counted, notes
from ticketctl.cli.prompts import confirm
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.dead_letter_queue import delete_dead_letters
from ticketctl.dead_letters.numbered import refuse_numbered
from ticketctl.dead_letters.selection import Selection, select
from ticketctl.dead_letters.views import print_table

_SHOWN: Final = 20
_OWNER_ONLY: Final = 0o600


def delete_selected(
    stack: System, selection: Selection, save: Path | None, *, yes: bool
) -> None:
    """Delete the selected dead letters, once a person agrees and they are saved.

    Raises:
        InputError: Some have a number, or cannot be saved.
    """
    found = select(stack, selection)
    if not found:
        console().print("nothing to delete")
        return
    refuse_numbered(stack, found)
    if not yes:
        print_table(notes(), found[:_SHOWN])
    kept = f"a copy goes to {save}" if save else "--save FILE keeps a copy"
    confirm(f"Delete {counted(len(found), 'dead letter')} for ever ({kept})?", yes=yes)
    if save:
        save_new(found, save)
    console().print(f"dead letters deleted: {delete_dead_letters(stack, found)}")


def save_new(found: Sequence[DeadLetter], path: Path) -> None:
    """Write a line of JSON for each dead letter into a new file, and to the disk.

    Raises:
        InputError: There is such a file, or it cannot be written.
    """
    try:
        # Bodies are whole requests, which others on the machine must not read.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - no path.
            file.writelines(json.dumps(one.as_json()).encode() + b"\n" for one in found)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(
            f"cannot write {path} ({error.strerror}); nothing was deleted"
        ) from error
