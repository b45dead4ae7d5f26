"""Finds the letters that somebody names, and says what was not seen."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import notes
from ticketctl.dead_letters.hold import HOLD_SECONDS, Hold
from ticketctl.dead_letters.letters import Filter, Letter

_WHOLE_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Choice:
    """Which letters a command is about."""

    ids: Sequence[str]
    everything: bool
    filter: Filter

    def check(self) -> None:
        """Refuse what could be meant in two ways, and a choice of nothing.

        Raises:
            InputError: The choice is not clear.
        """
        if self.ids and (self.everything or not self.filter.is_open):
            message = "name ids, or choose by --all, --project, --reason: not both"
            raise InputError(message)
        if not self.ids and not self.everything and self.filter.is_open:
            message = "name the ids, or choose by --project or --reason, or say --all"
            raise InputError(message)


def choose(held: Hold, choice: Choice) -> list[Letter]:
    """Hold the chosen letters, and make the others visible again.

    Raises:
        NotThereError: An id is of no letter that can be seen.
        InputError: An id begins the ids of several.
    """
    seen = _seen(held, choice.ids)
    if held.is_fifo and not choice.ids and len(seen) < held.before.visible:
        notes().print(
            f"about {held.before.visible - len(seen)} more are behind these in their "
            "message groups; run it again for them"
        )
    if choice.ids:
        chosen = [_named(seen, each, held) for each in choice.ids]
    else:
        chosen = [each for each in seen if choice.filter.passes(each)]
    chosen = list({each.message_id: each for each in chosen}.values())
    held.release(but=chosen)
    return chosen


def look(held: Hold, wanted: Filter, limit: int | None) -> list[Letter]:
    """Return letters that pass, as many as there are, or as the limit says."""
    return list(islice((each for each in held.receive() if wanted.passes(each)), limit))


def remark(held: Hold, seen: int) -> str:
    """Say how many of the letters were seen."""
    total = max(held.before.total, seen)
    text = f"{seen} of about {total} dead letters"
    if held.before.hidden:
        text += (
            f"; {held.before.hidden} are in somebody's hands now, "
            f"try again in {HOLD_SECONDS} s"
        )
    return text


def _seen(held: Hold, ids: Sequence[str]) -> list[Letter]:
    """Look no further than needed where the ids are whole."""
    missing = {each.lower() for each in ids}
    may_stop = bool(ids) and all(map(_WHOLE_ID.fullmatch, missing))
    seen = []
    for letter in held.receive():
        seen.append(letter)
        missing.discard(letter.message_id)
        if may_stop and not missing:
            break
    return seen


def _named(seen: Sequence[Letter], name: str, held: Hold) -> Letter:
    matches = [each for each in seen if each.message_id.startswith(name.lower())]
    if not matches:
        message = f"no dead letter {name} among {remark(held, len(seen))}"
        raise NotThereError(message)
    if not name or len(matches) > 1:
        message = f"{len(matches)} dead letters begin with {name!r}; write more of it"
        raise InputError(message)
    return matches[0]
