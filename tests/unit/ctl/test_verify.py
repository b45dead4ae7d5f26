"""What `verify` concludes from what came of its messages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from rich.console import Console

from tests.support.builders import ticket_fields
from ticket_numbering.messages import RequestKey
from ticketctl.verify.dead_letters import DeadLetter, take_own
from ticketctl.verify.projects import Project
from ticketctl.verify.report import print_heard
from ticketctl.verify.verdict import Announced, Observed, Sent, judge, percentile
from ticketctl.watch.heard import ASSIGNED, VOIDED, announcement

FIRST, SECOND = ticket_fields("A", "first"), ticket_fields("A", "second")
BROKEN = json.dumps(FIRST)[:-1]


def sent(message_id: str, fields: dict[str, Any], *, is_repeat: bool = False) -> Sent:
    """Return a message that was sent."""
    return Sent(message_id, json.dumps(fields), is_repeat)


def project(
    tickets: Mapping[int, dict[str, Any]], recorded: Mapping[str, int] | None = None
) -> Project:
    """Return project A with these tickets, their keys recorded unless given."""
    stored = {
        number: fields | {"priority": "medium"} for number, fields in tickets.items()
    }
    keys = {fields["idempotency_key"]: number for number, fields in tickets.items()}
    return Project("A", stored, keys if recorded is None else recorded)


def announced(**keys: Announced) -> dict[RequestKey, Announced]:
    """Return what was announced, by the idempotency key."""
    return {RequestKey("A", key): each for key, each in keys.items()}


def letter(body: str, error_type: str | None = "InvalidMessageError") -> DeadLetter:
    """Return a dead letter."""
    return DeadLetter(body, error_type, "the reason")


WELL_ANNOUNCED = announced(
    first=Announced({"A-1"}, replayed=True), second=Announced({"A-2"})
)
OTHER = json.dumps(SECOND | {"title": "Another"})
DEAD = {"3": letter(BROKEN), "5": letter(OTHER, "IdempotencyMismatchError")}
WELL = Observed(
    sent=[
        sent("1", FIRST),
        sent("2", SECOND),
        Sent("3", BROKEN),
        sent("4", FIRST, is_repeat=True),
        Sent("5", OTHER, is_repeat=True),
    ],
    announced=WELL_ANNOUNCED,
    dead_letters=DEAD,
    projects=[project({1: FIRST, 2: SECOND})],
)
ONE_ANNOUNCED = announced(first=Announced({"A-1"}, replayed=True))


class TestVerdict:
    """Clean only if every part of the promise holds."""

    def test_verdict_is_clean_when_everything_came_as_promised(self) -> None:
        verdict = judge(WELL)

        assert (verdict.missing, verdict.wrong) == ((), ())
        assert verdict.is_clean

    @pytest.mark.parametrize(
        ("flawed", "said"),
        [
            (replace(WELL, dead_letters={}), "poison, and no dead letter"),
            (
                replace(WELL, sent=[*WELL.sent, sent("6", ticket_fields("A", "lost"))]),
                "neither a number nor a dead letter",
            ),
            (
                replace(
                    WELL, projects=[project({1: FIRST, 2: {**SECOND, "title": "x"}})]
                ),
                "neither a number nor a dead letter",
            ),
            (
                replace(
                    WELL, announced=WELL_ANNOUNCED | announced(first=Announced({"A-1"}))
                ),
                "sent again, and not announced again",
            ),
            (replace(WELL, announced=ONE_ANNOUNCED), "A-2: stored, and not announced"),
        ],
        ids=["poison", "lost", "other ticket", "not again", "not announced"],
    )
    def test_verdict_names_what_is_missing(self, flawed: Observed, said: str) -> None:
        verdict = judge(flawed)

        assert any(said in problem for problem in verdict.missing)
        assert not verdict.is_clean

    @pytest.mark.parametrize(
        ("flawed", "said"),
        [
            (
                replace(WELL, projects=[project({2: FIRST, 5: SECOND})]),
                ["A: numbers 1 to 1 are missing", "A: numbers 3 to 4 are missing"],
            ),
            (
                replace(WELL, projects=[project({1: FIRST, 2: SECOND, 3: SECOND})]),
                ["A: several tickets of the key second"],
            ),
            (
                replace(WELL, projects=[project({1: FIRST, 2: SECOND}, {"first": 1})]),
                ["A-2: its key is not recorded with this number"],
            ),
            (
                replace(WELL, projects=[project({1: FIRST})]),
                ["A-2: announced, and not stored"],
            ),
            (
                replace(
                    WELL,
                    announced=WELL_ANNOUNCED
                    | announced(first=Announced({"A-1", "A-7"}, replayed=True)),
                ),
                ["first: one key, announced as A-1, A-7"],
            ),
            (
                replace(WELL, dead_letters=DEAD | {"3": letter("{ ")}),
                ["dead letter with another body"],
            ),
            (
                replace(
                    WELL,
                    dead_letters=DEAD | {"3": letter(BROKEN, "TicketTooLargeError")},
                ),
                ["dead letter with TicketTooLargeError for InvalidMessageError"],
            ),
            (
                replace(
                    WELL,
                    dead_letters=DEAD | {"1": letter(json.dumps(FIRST), None)},
                ),
                ["dead letter with no reason for a number"],
            ),
        ],
        ids=[
            *("gaps", "two numbers", "unrecorded", "not stored", "announced twice"),
            *("other body", "other reason", "no reason"),
        ],
    )
    def test_verdict_names_what_is_wrong(
        self, flawed: Observed, said: list[str]
    ) -> None:
        verdict = judge(flawed)

        found = "\n".join(verdict.wrong)
        assert all(each in found for each in said)
        assert not verdict.is_clean

    def test_verdict_leaves_the_number_to_either_ticket_of_a_reused_key(self) -> None:
        """A standard queue delivers in any order."""
        other = FIRST | {"title": "Another"}
        observed = Observed(
            [sent("1", FIRST), sent("2", other)],
            announced(first=Announced({"A-1"})),
            {"1": letter(json.dumps(FIRST), "IdempotencyMismatchError")},
            [project({1: other})],
        )

        assert judge(observed).is_clean

    @pytest.mark.parametrize(("percent", "expected"), [(50, 2.0), (99, 4.0)])
    def test_percentile_is_the_nearest_rank(
        self, percent: int, expected: float
    ) -> None:
        assert percentile([4.0, 1.0, 3.0, 2.0], percent) == expected


@dataclass
class Queue:
    """A dead-letter queue of SQS, as far as this needs one."""

    letters: list[dict[str, Any]]
    hidden: set[str] = field(default_factory=set)

    def receive_message(self, **_: Any) -> dict[str, Any]:
        """Give and hide what is visible."""
        some = [
            each for each in self.letters if each["ReceiptHandle"] not in self.hidden
        ]
        self.hidden |= {each["ReceiptHandle"] for each in some[:10]}
        return {"Messages": some[:10]} if some else {}

    def delete_message_batch(self, **request: Any) -> dict[str, Any]:
        """Delete letters."""
        gone = {each["ReceiptHandle"] for each in request["Entries"]}
        self.letters = [
            each for each in self.letters if each["ReceiptHandle"] not in gone
        ]
        return {}

    def change_message_visibility_batch(self, **request: Any) -> None:
        """Show letters again."""
        entries = request["Entries"]
        assert all(each["VisibilityTimeout"] == 0 for each in entries)
        self.hidden -= {each["ReceiptHandle"] for each in entries}


def received(message_id: str, **attributes: str) -> dict[str, Any]:
    """Return a letter as SQS gives it."""
    return {
        "MessageId": message_id,
        "ReceiptHandle": f"receipt of {message_id}",
        "Body": "{",
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": value}
            for name, value in attributes.items()
        },
    }


class TestDeadLetters:
    """A run takes its own, and no others."""

    def test_own_letters_are_taken_and_the_others_visible_again(self) -> None:
        others = [received(f"other-{number}") for number in range(25)]
        copy = received("x", SourceMessageId="1", ErrorType="E", ErrorMessage="why")
        queue = Queue([*others[:12], copy, received("2"), *others[12:]])

        found = take_own(queue, "url", {"1", "2", "3"})

        assert found == {
            "1": DeadLetter("{", "E", "why"),
            "2": DeadLetter("{", None, "received too often"),
        }
        assert queue.letters == others
        assert not any(each["ReceiptHandle"] in queue.hidden for each in others)


class TestReport:
    """Whatever comes from the topic is shown, and stops nothing."""

    @pytest.mark.parametrize(
        ("body", "shown"),
        [
            ("no JSON\x1b[2J", "not an announcement: no JSON\ufffd[2J"),
            ('{"type": "else"}', 'not an announcement: {"type": "else"}'),
            ('{"id": "X-1", "type": "other.v1"}', "X-1"),
            (json.dumps({"id": "X-1", "type": ASSIGNED, "data": {}}), "X-1"),
            (
                json.dumps({"id": "X-1", "type": VOIDED, "data": {"reason": "why"}}),
                "X-1 voided: why",
            ),
        ],
    )
    def test_message_is_shown_when_it_is_no_number(
        self, body: str, shown: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        print_heard(Console(highlight=False), announcement(body, {}))

        assert shown in capsys.readouterr().out
