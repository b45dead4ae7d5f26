"""Gets a new body for a letter, from a person or a file, and lets only a good one pass.

The letter stays held meanwhile: `holding` renews that while an editor is open, for up
to the 12 hours that SQS allows. To receive it anew after the edit instead would let
others send it back meanwhile, and then there would be two different requests.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ticketctl.cli.errors import InputError
from ticketctl.cli.output import notes, visible
from ticketctl.cli.prompts import agreed, is_interactive
from ticketctl.dead_letters.editing import is_unchanged, new_body, pretty, problems
from ticketctl.dead_letters.editor import edit, editor, text_file, text_of
from ticketctl.dead_letters.letters import KEY_IS_TAKEN, Letter


@dataclass(frozen=True)
class Wishes:
    """How a letter is to be mended."""

    new_key: bool = False
    """Put in a new idempotency key."""
    force: bool = False
    """Let an unchanged body pass, or a key that is taken."""
    may_ask: bool = False
    """Somebody is there who can edit again."""


@contextmanager
def new_text(letter: Letter, file: Path | None) -> Iterator[Callable[[], str]]:
    """Return what to call for a new text; an edited one is not lost if the block fails.

    Args:
        letter: What the text replaces.
        file: Where the text is; else an editor is opened.

    Raises:
        InputError: There is no editor.
    """
    if file:
        yield lambda: text_of(file)
        return
    command = editor()
    with text_file(pretty(letter.body)) as path:
        yield lambda: edit(command, path)


def correct(letter: Letter, text: Callable[[], str], wishes: Wishes) -> str | None:
    """Return a body that the worker will take; none if it is the old one.

    Raises:
        InputError: The text is wrong, and nobody is there to edit it again.
    """
    if letter.reason == KEY_IS_TAKEN and not wishes.new_key:
        notes().print(
            "its key has a number for another ticket: "
            "what asks for a different one needs a new key (--new-key)"
        )
    while True:
        body = new_body(text(), letter, new_key=wishes.new_key)
        if is_unchanged(body, letter) and not wishes.force:
            return None
        found = problems(body, letter, force=wishes.force)
        if not found:
            return body
        for each in found:
            notes().print(visible(each), markup=False)
        if not (wishes.may_ask and agreed("Edit again?")):
            message = "the new body is not valid; nothing is sent"
            raise InputError(message)


def wishes_of(file: Path | None, *, new_key: bool, force: bool) -> Wishes:
    """Return the wishes; a file does not change by asking."""
    return Wishes(new_key, force, may_ask=file is None and is_interactive())
