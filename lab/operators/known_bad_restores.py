"""Known-bad restores: each lacks one condition, and the histories must refute it.

Each changes the shipped code in one place. Where the judge of a plan holds a condition
as well, it is removed, too, and a refutation of that alone does not count.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from operators.changes import (
    Change,
    as_if_unrecorded,
    changed,
    forgetting,
    puts_record,
    puts_reserved,
    puts_ticket,
    returning,
    then,
    tied,
    unchecked,
    unless_there,
    without_mark,
    without_time,
    writing_no,
)
from operators.restored_history import play_restores
from simulation.checks.violations import Invariant
from ticketctl.ledger.item import Reserved, Ticket, parse
from ticketctl.ledger.record import KeyRecord
from ticketctl.restore import (
    command,
    deciding,
    outlines,
    planning,
    reading,
    restoring,
    steps,
)
from ticketctl.restore.deciding import Decider
from ticketctl.restore.ending import End
from ticketctl.restore.plan import Plan
from ticketctl.restore.planning import Planner
from ticketctl.restore.reading import ExportReader
from ticketctl.restore.restoring import Restore
from ticketctl.restore.steps import Form, Step, Terms
from ticketctl.restore.writing import Writer

NO_JUDGE: Final[Change] = planning, "blamed", returning({})


@dataclass(frozen=True)
class KnownBad:
    """A restore that lacks a condition."""

    breaks: Invariant
    does: str
    seed: int
    """The first history that it ends so."""
    changes: Sequence[Change]


def bad(does: str, seed: int, *changes: Change) -> tuple[str, int, Sequence[Change]]:
    """Return a known-bad restore's changes, and `NO_JUDGE` if the judge sees it."""
    return does, seed, changes


_TABLE: Final = {
    Invariant.RESTORE_TOOK_FILE: (
        bad("takes a cut file", 2, (ExportReader, "_check_whole", returning(None))),
        bad("takes unknown attributes", 2, (reading, "checked_item", lambda _: parse)),
        bad("compares no heads", 3, (command, "failing_heads", returning(()))),
    ),
    Invariant.RESTORE_UNVOUCHED: (
        bad("checks no item", 21, (Writer, "_of_ticket", unchecked)),
        bad(
            "brings each hash back",
            1,
            (Decider, "_formed", returning(Step(Form.WHOLE))),
        ),
        bad("does not believe the record", 5, (Decider, "_formed", as_if_unrecorded)),
        bad(
            "does not believe the ticket above",
            17,
            (deciding, "covers", returning(value=False)),
        ),
        bad(
            "takes each project for empty",
            1,
            (outlines, "_is_whole", returning(value=True)),
        ),
    ),
    Invariant.RECORD_OVERWRITTEN: (
        bad("checks no record", 55, (Writer, "_of_key", unchecked)),
        bad(
            "brings a hash back above any other",
            47,
            (deciding, "problem_of", returning("")),
            NO_JUDGE,
        ),
        bad(
            "makes a record of a changed ticket",
            47,
            (deciding, "problem_of", returning("")),
            (planning, "without_doubtful", lambda _: lambda _, steps: steps),
            NO_JUDGE,
        ),
        bad(
            "loses the time of an erased record",
            20,
            (KeyRecord, "erased", then(without_time)),
        ),
    ),
    Invariant.RESTORE_FINDING: (
        bad("keeps a step on other ground", 15, (Writer, "_look_again", forgetting)),
        bad("reserves no end", 15, (End, "reserve", returning(""))),
        bad("puts the end back in its turn", 15, (End, "reserve", without_mark)),
        bad(
            "begins with the lowest number",
            9,
            (Plan, "due", then(lambda due: reversed([*due]))),
        ),
        bad("goes on above a hole", 28, (Plan, "let_wait", returning(None))),
        bad("makes no record", 1, (Decider, "record_of", returning(None))),
        bad("writes no record", 1, *writing_no(puts_record)),
        bad("writes no ticket", 1, *writing_no(puts_ticket)),
        bad(
            "brings an erased text back",
            137,
            (Terms, "erased", lambda _: lambda _, own: own),
            NO_JUDGE,
        ),
        bad("does not ask the judge", 5, NO_JUDGE),
    ),
    Invariant.SECOND_NUMBER: (
        bad("lets the worker run", 8, (Restore, "stopped", returning(nullcontext()))),
        bad(
            "gives an import's key its old time",
            5,
            (deciding, "ORIGIN", lambda _: "none"),
        ),
    ),
    Invariant.RESTORE_FOREIGN: (
        bad("sees no other history", 52, (outlines, "agree", returning(value=True))),
        bad(
            "takes a file that nothing ties", 45, (restoring, "outline_of", then(tied))
        ),
    ),
    Invariant.OPERATOR_STUCK: (
        bad(
            "prints no command for a hole", 33, (command, "commands_for", returning(()))
        ),
        bad(
            "overwrites existing items",
            21,
            (deciding, "gives_way", returning(value=True)),
            NO_JUDGE,
        ),
    ),
    Invariant.RESTORE_SILENT: (
        bad("writes no reserved number", 1, *writing_no(puts_reserved)),
    ),
    Invariant.RESTORE_NOT_BLOCKED: (
        bad(
            "reserves nothing behind a block", 129, (Planner, "_reserves", returning(0))
        ),
    ),
    Invariant.MARK_CHANGED: (
        bad(
            "loses the marks of a seed",
            28,
            (steps, "SEED_ATTRIBUTES", lambda _: frozenset()),
        ),
    ),
    Invariant.RESTORE_REFUSED: (
        bad(
            "leaves reserved numbers",
            1,
            (deciding, "gives_way", unless_there(Reserved)),
        ),
        bad("gives no hash again", 1, (deciding, "gives_way", unless_there(Ticket))),
    ),
    Invariant.ERASED_RECORD: (
        bad(
            "keeps the fingerprint of an erased text",
            1,
            (KeyRecord, "erased", lambda _: lambda self: dict(self.fields)),
            NO_JUDGE,
        ),
    ),
    Invariant.RESTORE_UNMARKED: (
        bad("prints no mark", 1, (command, "marks_left", returning(()))),
    ),
}
"""By the check that sees it."""

KNOWN_BAD: Final = [
    KnownBad(check, *restore) for check, some in _TABLE.items() for restore in some
]


def refuted(number: int, seeds: range) -> int:
    """Return the first history that ends as the table says; 0 for none."""
    restore = KNOWN_BAD[number]
    is_judged = NO_JUDGE not in restore.changes[1:]
    for seed in seeds:
        if _broken(restore.changes, seed) is restore.breaks and (
            is_judged or not _broken([NO_JUDGE], seed)
        ):
            return seed
    return 0


def _broken(changes: Sequence[Change], seed: int) -> Invariant | None:
    with changed(changes):
        return play_restores(range(seed, seed + 1)).breaks
