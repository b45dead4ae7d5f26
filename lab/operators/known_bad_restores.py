"""Known-bad restores: each lacks one condition, and the histories must refute it.

Each changes the shipped code in one place. Where the judge of a plan holds a condition
as well, it is away, too, and what refutes that alone does not count.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from operators.changes import (
    Change,
    changed,
    forgetting,
    puts_record,
    puts_reserved,
    puts_ticket,
    returning,
    then,
    tied,
    unchecked,
    unless,
    without_mark,
    without_time,
    writing_no,
)
from operators.restored_history import play_restores
from simulation.checks.violations import Invariant, Violation
from ticketctl.ledger.item import Reserved, Ticket, parse
from ticketctl.ledger.record import KeyRecord
from ticketctl.restore import (
    command,
    deeds,
    outlines,
    planning,
    reading,
    report,
    restoring,
    verdicts,
)
from ticketctl.restore.deeds import Deed, Form, Terms
from ticketctl.restore.ending import End
from ticketctl.restore.plan import Plan
from ticketctl.restore.planning import Planner
from ticketctl.restore.reading import ExportReader
from ticketctl.restore.restoring import Restore
from ticketctl.restore.verdicts import Verdicts
from ticketctl.restore.writing import Writer


@dataclass(frozen=True)
class KnownBad:
    """A restore that lacks a condition."""

    does: str
    breaks: Invariant
    seed: int
    """The first history that it ends so."""
    changes: Sequence[Change]
    barriers: Sequence[Change] = ()
    """Other barriers that hold the condition, and are away, too."""


def bad(does: str, breaks: str, seed: int, *changes: Change) -> KnownBad:
    """Return a restore that is known to be bad."""
    left = [change for change in changes if change != NO_JUDGE]
    others = [NO_JUDGE] if NO_JUDGE in changes else []
    return KnownBad(does, Invariant[breaks], seed, left, others)


NO_JUDGE: Final[Change] = planning, "blamed", returning({})

KNOWN_BAD: Final[Sequence[KnownBad]] = (
    # The file.
    bad(
        "takes a cut file",
        "RESTORE_TOOK_FILE",
        2,
        (ExportReader, "_check_whole", returning(None)),
    ),
    bad(
        "takes unknown attributes",
        "RESTORE_TOOK_FILE",
        2,
        (reading, "checked_item", lambda _: parse),
    ),
    bad(
        "compares no heads",
        "RESTORE_TOOK_FILE",
        3,
        (command, "failing_heads", returning(())),
    ),
    # The ground of a verdict.
    bad("checks no item", "RESTORE_UNVOUCHED", 21, (Writer, "_of_ticket", unchecked)),
    bad("checks no record", "RECORD_OVERWRITTEN", 55, (Writer, "_of_key", unchecked)),
    bad(
        "keeps a verdict on other ground",
        "RESTORE_FINDING",
        15,
        (Writer, "_look_again", forgetting),
    ),
    # The end.
    bad("reserves no end", "RESTORE_FINDING", 15, (End, "reserve", returning(""))),
    bad(
        "puts the end back in its turn",
        "RESTORE_FINDING",
        15,
        (End, "reserve", without_mark),
    ),
    bad(
        "begins with the lowest number",
        "RESTORE_FINDING",
        9,
        (Plan, "due", then(lambda due: reversed([*due]))),
    ),
    # The worker.
    bad(
        "lets the worker run",
        "SECOND_NUMBER",
        8,
        (Restore, "stopped", lambda _: lambda _: nullcontext()),
    ),
    # Who vouches.
    bad(
        "brings each hash back",
        "RESTORE_UNVOUCHED",
        1,
        (Verdicts, "_formed", returning(Deed(Form.WHOLE))),
    ),
    bad(
        "brings a hash back above any other",
        "RECORD_OVERWRITTEN",
        47,
        (verdicts, "problem_of", returning("")),
        NO_JUDGE,
    ),
    bad(
        "does not believe the record",
        "RESTORE_UNVOUCHED",
        5,
        (
            Verdicts,
            "_formed",
            lambda real: lambda *given, **_: real(*given, is_recorded=False),
        ),
    ),
    bad(
        "does not believe the ticket above",
        "RESTORE_UNVOUCHED",
        17,
        (verdicts, "covers", returning(value=False)),
    ),
    bad(
        "sees no other history",
        "RESTORE_FOREIGN",
        52,
        (outlines, "agree", returning(value=True)),
    ),
    bad(
        "takes a file that nothing ties",
        "RESTORE_FOREIGN",
        45,
        (restoring, "outline_of", then(tied)),
    ),
    bad(
        "takes each project for empty",
        "RESTORE_UNVOUCHED",
        1,
        (outlines, "_is_whole", returning(value=True)),
    ),
    # The hole.
    bad(
        "goes on above a hole",
        "RESTORE_FINDING",
        28,
        (Plan, "let_wait", returning(None)),
    ),
    bad(
        "prints no command for a hole",
        "OPERATOR_STUCK",
        33,
        (report, "commands_for", returning(())),
    ),
    # The records.
    bad(
        "makes no record",
        "RESTORE_FINDING",
        1,
        (Verdicts, "record_of", returning(None)),
    ),
    bad("writes no record", "RESTORE_FINDING", 1, *writing_no(puts_record)),
    bad("writes no ticket", "RESTORE_FINDING", 1, *writing_no(puts_ticket)),
    bad("writes no reserved number", "RESTORE_SILENT", 1, *writing_no(puts_reserved)),
    bad(
        "makes a record of a changed ticket",
        "RECORD_OVERWRITTEN",
        47,
        (verdicts, "problem_of", returning("")),
        (planning, "without_doubtful", lambda _: lambda _, deeds: deeds),
        NO_JUDGE,
    ),
    bad(
        "gives an import's key its old time",
        "SECOND_NUMBER",
        5,
        (verdicts, "ORIGIN", lambda _: "none"),
    ),
    # What gives way.
    bad(
        "overwrites what is there",
        "OPERATOR_STUCK",
        21,
        (verdicts, "gives_way", returning(value=True)),
        NO_JUDGE,
    ),
    bad(
        "loses the marks of a seed",
        "MARK_CHANGED",
        28,
        (deeds, "SEED_ATTRIBUTES", lambda _: frozenset()),
    ),
    bad(
        "reserves nothing behind a block",
        "RESTORE_NOT_BLOCKED",
        129,
        (Planner, "_reserves", returning(0)),
    ),
    bad(
        "leaves reserved numbers",
        "RESTORE_REFUSED",
        1,
        (verdicts, "gives_way", unless(lambda _, there: isinstance(there, Reserved))),
    ),
    bad(
        "gives no hash again",
        "RESTORE_REFUSED",
        1,
        (verdicts, "gives_way", unless(lambda _, there: isinstance(there, Ticket))),
    ),
    # What is erased.
    bad(
        "brings an erased text back",
        "RESTORE_FINDING",
        137,
        (Terms, "erased", lambda _: lambda _, own: own),
        NO_JUDGE,
    ),
    bad(
        "keeps the fingerprint of an erased text",
        "ERASED_RECORD",
        1,
        (KeyRecord, "erased", lambda _: lambda self: dict(self.fields)),
        NO_JUDGE,
    ),
    bad(
        "loses the time of an erased record",
        "RECORD_OVERWRITTEN",
        20,
        (KeyRecord, "erased", then(without_time)),
    ),
    bad("prints no mark", "RESTORE_UNMARKED", 1, (report, "marks_left", returning(()))),
    # All of it.
    KnownBad("does not ask the judge", Invariant.RESTORE_FINDING, 5, [NO_JUDGE]),
)
"""In the order of the contract."""


def first_refutation(restore: KnownBad, seeds: range) -> int:
    """Return the first seed of which the history ends as expected; 0 for none."""
    for seed in seeds:
        check = _broken([*restore.changes, *restore.barriers], seed)
        if check is restore.breaks and not (
            restore.barriers and _broken(restore.barriers, seed)
        ):
            return seed
    return 0


def refuted(number: int, seeds: range) -> int:
    """Return the first seed for one of the table."""
    return first_refutation(KNOWN_BAD[number], seeds)


def _broken(changes: Sequence[Change], seed: int) -> Invariant | None:
    try:
        with changed(changes):
            play_restores(range(seed, seed + 1))
    except Violation as violation:
        return violation.check
    return None
