"""The outcome that `verify` finds for its messages."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from operators.model_services import ModelServices
from simulation.aws.messages import Message
from tests.support.builders import (
    ASSIGNED_AT,
    SOURCE,
    announcement,
    assigned_event,
    create_ticket,
    ticket_fields,
)
from tests.support.cases import cases
from tests.support.ctl_process import canned_stack
from tests.support.sample_messages import FULL, SAMPLES
from tests.support.stage import Stage
from ticket_numbering.contract.attributes import text_attribute
from ticket_numbering.contract.events import RefusedRequest, TicketRefused
from ticket_numbering.contract.messages import CONTENT_DEFAULTS, RequestKey
from ticketctl.audit.audit import ProjectAudit
from ticketctl.aws.announcements import REFUSED as REFUSED_TYPE
from ticketctl.aws.announcements import VOIDED, Announcement
from ticketctl.aws.queues import RECEIVED_TOO_OFTEN, Received
from ticketctl.ledger.findings import Finding, FindingKind
from ticketctl.verify.command import print_run, run_json
from ticketctl.verify.observed import Announcements, Observed, Project, Sent
from ticketctl.verify.outcome import check_outcomes
from ticketctl.verify.run import Run, take_own

GAP = Finding(FindingKind.GAP, "A", (1, 1))
AT_CAP = "SequenceFullError"
FIRST, SECOND = ticket_fields("A", "first"), FULL | ticket_fields("A", "second")
BROKEN = json.dumps(FIRST)[:-1]


def sent(message_id: str, fields: dict[str, Any], *, is_repeat: bool = False) -> Sent:
    return Sent(message_id, json.dumps(fields), is_repeat)


def project(tickets: Mapping[int, dict[str, Any]], *findings: Finding) -> Project:
    """Return project A with these tickets, and an audit's findings."""
    stored = {
        number: {"priority": "medium"}
        | fields
        | {"number": number, "assigned_at": ASSIGNED_AT}
        for number, fields in tickets.items()
    }
    return Project(ProjectAudit("A", findings=findings), stored)


def numbered(
    fields: dict[str, Any], number: int, *, again: bool = False, **changed: str
) -> Announcement:
    """Return the announcement of a number; `changed` replaces members of its data."""
    event = assigned_event(create_ticket(**fields), number).model_dump(mode="json")
    return Announcement(event | {"data": event["data"] | changed}, again)


def refused(message_id: str, fields: dict[str, Any], error_type: str) -> Announcement:
    data = RefusedRequest(
        project_id=fields["project_id"],
        idempotency_key=fields["idempotency_key"],
        error_type=error_type,
        field="body",
        message_id=message_id,
    )
    event = TicketRefused.of(data, source=SOURCE)
    return Announcement(event.model_dump(mode="json"))


def announced(*events: Announcement) -> Announcements:
    announcements = Announcements()
    for event in events:
        announcements.add(event)
    return announcements


def dead_letter(
    source: str, body: str, error_type: str = "InvalidMessageError"
) -> Received:
    """Return a dead letter; one that SQS moved has no reason."""
    reason = {
        "SourceMessageId": source,
        "ErrorType": error_type,
        "ErrorMessage": f"why {source}",
    }
    return Received("m", body, reason) if error_type else Received(source, body)


OTHER = json.dumps(SECOND | {"title": "Another"})
LATE = ticket_fields("A", "late", max_number=2)
LATE_BODY = json.dumps(LATE)
DEAD = [dead_letter("3", BROKEN), dead_letter("5", OTHER, "IdempotencyMismatchError")]
FIRST_ANNOUNCED = [numbered(FIRST, 1), numbered(FIRST, 1, again=True)]
SECOND_ANNOUNCED = [numbered(SECOND, 2)]
REUSE_REFUSED = [refused("5", SECOND, "IdempotencyMismatchError")]
CAP_REFUSED = [refused("6", LATE, AT_CAP)]
REFUSED = [*REUSE_REFUSED, *CAP_REFUSED]
ANNOUNCED = [*FIRST_ANNOUNCED, *SECOND_ANNOUNCED, *REFUSED]
WELL = Observed(
    sent=[
        sent("1", FIRST),
        sent("2", SECOND),
        Sent("3", BROKEN),
        sent("4", FIRST, is_repeat=True),
        Sent("5", OTHER, is_repeat=True),
        sent("6", LATE, is_repeat=True),
    ],
    announcements=announced(*ANNOUNCED),
    dead_letters=DEAD,
    projects=[project({1: FIRST, 2: SECOND})],
)


def run_of(observed: Observed) -> Run:
    """Return a run that came to these outcomes."""
    return Run(
        canned_stack({}),
        "url",
        sent=[*observed.sent],
        dead_letters={letter.source: letter for letter in observed.dead_letters},
    )


def heard(*events: Announcement) -> Observed:
    return replace(WELL, announcements=announced(*events))


def without(some: list[Announcement]) -> Observed:
    return heard(*(event for event in ANNOUNCED if event not in some))


def with_more(*more: Announcement) -> Observed:
    return heard(*ANNOUNCED, *more)


def with_dead(source: str, body: str, error_type: str) -> Observed:
    """Return it with one dead letter more, between the copies of the others."""
    more = dead_letter(source, body, error_type)
    return replace(WELL, dead_letters=[*DEAD, more, *DEAD])


def with_tickets(*tickets: dict[str, Any]) -> Observed:
    return replace(WELL, projects=[project(dict(enumerate(tickets, 1)))])


def with_sent(fields: dict[str, Any], observed: Observed = WELL) -> Observed:
    """Return it with one message more."""
    return replace(observed, sent=[*WELL.sent, sent("7", fields)])


def refused_at_cap(fields: dict[str, Any]) -> Observed:
    """Return it with one message more, for which its cap is said to be reached."""
    return with_sent(fields, with_more(refused("7", fields, AT_CAP)))


NOTHING = "neither number, refusal nor dead letter"
MISSING = {
    "poison": (replace(WELL, dead_letters=[]), "poison, and no dead letter"),
    "lost": (with_sent(ticket_fields("A", "lost")), NOTHING),
    **{
        f"other-{name}": (
            with_tickets(FIRST, SECOND | {name: SAMPLES[name].changes[0]}),
            NOTHING,
        )
        for name in CONTENT_DEFAULTS
        if name not in RequestKey._fields
    },
    "other-than-default": (with_tickets(FIRST | {"priority": "low"}, SECOND), NOTHING),
    "not-again": (without(FIRST_ANNOUNCED[1:]), "sent again, and not announced again"),
    "not-announced": (without(SECOND_ANNOUNCED), "A-2: stored, and not announced"),
    "no-refusal": (without(CAP_REFUSED), NOTHING),
    "only-dead": (without(REUSE_REFUSED), "dead letter, and its refusal not announced"),
}
WRONG = {
    "finding": (
        replace(WELL, projects=[project({2: FIRST, 5: SECOND}, GAP)]),
        str(GAP),
    ),
    "not-asked-for": (
        with_tickets(FIRST, SECOND, ticket_fields("A", "x")),
        "A-3: stored, and not requested",
    ),
    "not-stored": (with_tickets(FIRST), "A-2: announced, and not stored"),
    "announced-thrice": (
        with_more(numbered(FIRST, 7), numbered(FIRST, 8)),
        "first: announced as A-7, A-8",
    ),
    "swapped": (
        heard(numbered(FIRST, 2), numbered(SECOND, 1)),
        "second: announced as A-1",
    ),
    "other-content": (
        with_more(numbered(FIRST, 1, display="A-01")),
        "first: announced with different contents",
    ),
    "other-body": (
        with_dead("3", f"{BROKEN} ", "InvalidMessageError"),
        "dead letter with another body",
    ),
    "other-reason": (
        with_dead("3", BROKEN, "TicketTooLargeError"),
        "dead letter with TicketTooLargeError for InvalidMessageError",
    ),
    "no-reason": (
        with_dead("1", json.dumps(FIRST), ""),
        "dead letter with no reason for a number",
    ),
    "numbered-and-dead": (
        with_dead("2", json.dumps(SECOND), "IdempotencyMismatchError"),
        "dead letter with IdempotencyMismatchError for a number",
    ),
    "not-sent": (
        with_dead("9", BROKEN, "InvalidMessageError"),
        f"dead letter of no message that was sent: {BROKEN[:60]}...",
    ),
    "dead-at-its-cap": (
        with_dead("6", LATE_BODY, AT_CAP),
        "dead letter with SequenceFullError for a number",
    ),
    "other-key": (with_more(refused("6", SECOND, AT_CAP)), "refused under another key"),
    "refused-for-nothing": (
        with_more(refused("1", FIRST, "InvalidMessageError")),
        "refused with InvalidMessageError for a number",
    ),
    "poison-at-its-cap": (
        refused_at_cap(FIRST | {"title": ""}),
        "refused at a cap, and poison",
    ),
    "no-number-yet": (
        refused_at_cap(ticket_fields("B", max_number=1)),
        "refused below its cap",
    ),
    "no-cap": (with_more(refused("1", FIRST, AT_CAP)), "refused below its cap"),
    "below-its-cap": (with_tickets(FIRST), "refused below its cap"),
    "refused-and-numbered": (
        with_tickets(FIRST, LATE),
        "refused, and has a number that its cap allows",
    ),
}

MISMATCHED = FIRST | {"title": "Another"}
CLEAN: dict[str, Callable[[], Observed]] = {
    "as-promised": lambda: WELL,
    "another-order": lambda: heard(*reversed(ANNOUNCED)),
    "another-fact": lambda: with_more(
        Announcement({"id": "e", "type": VOIDED, "data": {}})
    ),
    "refusal-of-nothing": lambda: with_more(
        Announcement({"id": "e", "type": REFUSED_TYPE, "data": {}})
    ),
    "numbered-below-its-cap": lambda: with_sent(SECOND | {"max_number": 9}),
    # The refusal is about one message; the number ends the matter.
    "equal-request-numbered-above-the-cap": lambda: replace(
        with_sent(LATE | {"max_number": 3}, with_more(numbered(LATE, 3))),
        projects=[project({1: FIRST, 2: SECOND, 3: LATE})],
    ),
    # A standard queue delivers in any order.
    "reused-key-numbered-first": lambda: Observed(
        [sent("1", FIRST), sent("2", MISMATCHED)],
        announced(
            numbered(MISMATCHED, 1), refused("1", FIRST, "IdempotencyMismatchError")
        ),
        [dead_letter("1", json.dumps(FIRST), "IdempotencyMismatchError")],
        [project({1: MISMATCHED})],
    ),
    "worker-gave-up-to-announce": lambda: replace(
        without(REUSE_REFUSED), given_up={"5"}
    ),
}
"""Made in each test, so that an error in the making is the test's own."""


class TestVerdict:
    """Clean only if every part of the promise holds."""

    @pytest.mark.parametrize("observed", cases(CLEAN))
    def test_outcome_is_clean_when_everything_came_as_promised(
        self, observed: Callable[[], Observed]
    ) -> None:
        outcome = check_outcomes(observed())

        assert (outcome.missing, outcome.wrong) == ((), ())
        assert outcome.is_clean

    def test_outcome_shows_the_start_of_a_body_as_a_line_that_is_safe(self) -> None:
        body = f"\x1b[2J\n{'x' * 100}"

        [problem] = check_outcomes(
            Observed([Sent("1", body)], announced(), [], [])
        ).missing

        shown = f"\N{REPLACEMENT CHARACTER}[2J {'x' * 55}..."
        assert problem == f"poison, and no dead letter: {shown}"

    @pytest.mark.parametrize(("flawed", "said"), cases(MISSING))
    def test_outcome_names_what_is_missing(self, flawed: Observed, said: str) -> None:
        outcome = check_outcomes(flawed)

        assert any(problem.startswith(said) for problem in outcome.missing)
        assert not outcome.is_clean

    @pytest.mark.parametrize(("flawed", "said"), cases(WRONG))
    def test_outcome_names_what_is_wrong(self, flawed: Observed, said: str) -> None:
        outcome = check_outcomes(flawed)

        assert any(problem.startswith(said) for problem in outcome.wrong)
        assert not outcome.is_clean

    @pytest.mark.parametrize(
        "name", ["title", "priority", "number", "assigned_at", "chain"]
    )
    def test_outcome_names_the_field_that_is_not_announced_as_stored(
        self, name: str
    ) -> None:
        second = numbered(SECOND, 2)
        second.data[name] = "other"

        [problem] = check_outcomes(heard(*FIRST_ANNOUNCED, second, *REFUSED)).wrong

        assert problem == f"A-2: announced with another {name} than is stored"

    def test_outcome_waits_for_a_refusal_when_sqs_moved_another_copy(self) -> None:
        """Each of the two may be late."""
        moved = [*DEAD, dead_letter("5", OTHER, "")]
        observed = replace(without(REUSE_REFUSED), dead_letters=moved)

        [missing] = check_outcomes(observed).missing

        assert missing.startswith("dead letter, and its refusal not announced: ")

    def test_outcome_waits_for_no_refusal_when_sqs_moved_the_dead_letter(self) -> None:
        assert not check_outcomes(with_dead("1", json.dumps(FIRST), "")).missing

    def test_outcome_shows_why_each_message_was_refused(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        moved = with_dead("1", json.dumps(FIRST), "")

        print_run(run_of(moved), check_outcomes(moved), is_sample=True)

        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "bad messages: 2 refused, 3 dead letters, 1 of them both"
        assert [line for line in lines[1:9] if line[0] != " "] == [
            f"dead letter  no reason: {RECEIVED_TOO_OFTEN}",
            "dead letter  InvalidMessageError: why 3",
            "both         IdempotencyMismatchError: why 5",
            "refused      SequenceFullError: body",
        ]
        assert lines[-2].startswith("dead letter with no reason for a number: ")
        assert lines[-1].startswith("Verdict: NOT CLEAN, 2 of 6 messages got a number")

    def test_percentiles_are_nearest_ranks(self) -> None:
        run = Run(canned_stack({}), "url", seconds=[4.0, 1.0, 3.0, 2.0])

        times = run_json(run, check_outcomes(WELL))["seconds_to_announced"]

        assert times == {"p50": 2.0, "p99": 4.0}


def test_tables_are_not_read_when_no_message_names_a_project() -> None:
    """An audit without a project would be one of everything."""
    run = Run(canned_stack({}), "url", sent=[Sent("1", BROKEN)])

    assert run.outcome().observed.projects == []


def test_own_dead_letters_are_taken_and_the_others_visible_again() -> None:
    """The worker's copy names the message; one that SQS moved keeps its id."""
    reason = {"SourceMessageId": "1", "ErrorType": "E", "ErrorMessage": "why"}
    attributes = {name: text_attribute(value) for name, value in reason.items()}
    services = ModelServices()
    queue = services.queues["dead"]
    copy, other, moved = queue.send("{", attributes), queue.send("{"), queue.send("{")

    received = take_own(services.sqs, "dead", {"1", moved.id, "3"})

    assert received == {
        "1": Received(copy.id, "{", reason),
        moved.id: Received(moved.id, "{"),
    }
    assert [*queue.messages] == [other.id]
    assert other.visible_at <= services.scheduler.now


def test_project_keeps_its_findings_but_that_it_has_no_ticket(stage: Stage) -> None:
    none = Finding(FindingKind.NO_TICKETS, "A")

    read = Project.read(stage, ProjectAudit("A", findings=[GAP, none]))

    assert read.audit.findings == (GAP,)


PROBE = create_ticket("A", "probe")


def probed(deaf_to: int) -> tuple[bool, ModelServices]:
    """Let a run of `verify` probe a new subscription for a minute.

    Every request is announced, and the first ones to no subscriber.
    """
    services = ModelServices()
    requests = services.queues["source"]
    subscribed = services.create_queue("subscribed")

    def announce(_: Message) -> None:
        is_replay = len(requests.arrived) > 1
        if len(requests.arrived) > deaf_to:
            entry = announcement(PROBE, replayed=is_replay).entry(fifo=False)
            subscribed.send(entry["Message"], entry["MessageAttributes"])

    requests.on_arrival = announce
    stack = canned_stack({"CreateTicketQueueUrl": "source"}, sqs=services.sqs)
    run = Run(stack, "subscribed", clock=lambda: services.scheduler.now)
    return run.probe(PROBE.model_dump_json(exclude_none=True), patience=60), services


class TestProbe:
    """A new subscription may miss the first announcements."""

    @pytest.mark.parametrize("deaf_to", [0, 1, 3])
    def test_request_is_repeated_until_the_subscription_delivers(
        self, deaf_to: int
    ) -> None:
        """And no more often."""
        is_heard, services = probed(deaf_to)

        sent = [message.body for message in services.queues["source"].arrived]
        assert is_heard
        assert len(sent) == deaf_to + 1
        assert len(set(sent)) == 1

    def test_probe_gives_up_when_nothing_comes_for_its_patience(self) -> None:
        is_heard, services = probed(deaf_to=1_000)

        sent = services.queues["source"].arrived
        assert not is_heard
        assert 60 <= services.scheduler.now < 62
        assert len(sent) < 60, "it listens between two requests"
