"""`ticketctl void` and `ticketctl erase` mark a ticket, and announce it."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from simulation.aws.clients import AlteredClient
from tests.support.builders import CALLER, SALT, create_ticket
from tests.support.canned_aws import client_error, failing
from tests.support.cases import cases
from tests.support.evidence import chain_after
from tests.support.stage import Stage, cancelled, without_sleep
from ticket_numbering.contract.chain import commitment_of
from ticket_numbering.contract.mark_events import MAX_REASON
from ticketctl.aws.tickets import find_ticket
from ticketctl.cli.errors import BusyError, InputError, Status
from ticketctl.ledger.chain import KEPT
from ticketctl.sequences.marking import Marking, checked_reason

NOW = "2026-11-21T06:30:00.123Z"
VOIDED_BEFORE = {"status": "voided", "voided_reason": "spam", "voided_at": NOW}
ERASED_BEFORE = {"status": "erased", "erased_reason": "asked to", "erased_at": NOW}


class TestVoid:
    """Every recorded mark is announced, and nothing else is."""

    def test_ticket_is_marked_and_announced_and_again_when_run_again(
        self, stage: Stage
    ) -> None:
        """The first run may have died in between: the same event, as a repeat."""
        stage.put(42, priority="urgent")
        stage.outputs["AssignmentsTopicArn"] += ".fifo"

        for _ in range(3):
            stage.call("void", "PROJ-42", "--reason", "doppelt, siehe \u00c4-1")

        [message] = {request["Message"] for request in stage.published}
        assert json.loads(message)["data"]["reason"] == "doppelt, siehe \u00c4-1"
        attributes = [request["MessageAttributes"] for request in stage.published]
        assert attributes[0]["priority"]["StringValue"] == "urgent"
        replayed = [of_event["replayed"]["StringValue"] for of_event in attributes]
        assert replayed == ["false", "true", "true"]
        # SNS drops an id that it saw within five minutes.
        ids = {request["MessageDeduplicationId"] for request in stage.published}
        assert len(ids) == 3

    @pytest.mark.parametrize(
        "wrong",
        [
            {"idempotency_key": "a key"},
            {"priority": "odd"},
            {"status": "lost"},
            {"status": "lost", "voided_at": NOW, "voided_reason": "spam"},
            {"status": "voided"},
            {"status": "voided", "voided_at": "x"},
            {"status": "voided", "voided_reason": "spam"},
        ],
        ids=str,
    )
    def test_ticket_is_not_voided_when_it_could_not_be_announced(
        self, stage: Stage, wrong: dict[str, str]
    ) -> None:
        """It would be voided for ever, without an announcement."""
        stage.put(42, **wrong)
        before = stage.tickets()

        ended = stage.call("void", "PROJ-42", "--reason", "spam")

        assert ended.status == Status.PROBLEM
        assert stage.tickets() == before
        assert stage.published == []

    def test_reason_is_taken_when_it_is_of_the_greatest_length(self) -> None:
        assert checked_reason(longest := "x" * MAX_REASON) == longest

    @pytest.mark.parametrize("reason", ["", " ", "a\nb", "\x1b[2J", "x" * 501])
    def test_reason_is_refused_when_it_is_no_line(self, reason: str) -> None:
        """SNS takes no control characters, and people read lines."""
        with pytest.raises(InputError, match="--reason"):
            checked_reason(reason)


class TestErase:
    """The text goes; number, key and dates stay."""

    @pytest.mark.parametrize("status", [{}, VOIDED_BEFORE], ids=["plain", "voided"])
    def test_text_goes_and_the_rest_stays_when_a_ticket_is_erased_once_or_twice(
        self, stage: Stage, status: dict[str, str]
    ) -> None:
        text = {"description": "Ann is ill", "reporter": "Ann", "labels": "private"}
        stage.put(42, priority="high", attributes="phone", **text, **status)
        before = stage.tickets()[42]

        ended = stage.call("erase", "PROJ-42", "--reason", "asked to")

        after = stage.tickets()[42]
        assert "chain" not in ended.err
        assert before.keys() - after.keys() == {*text, "attributes"}
        changed = {name for name in after if after[name] != before.get(name)}
        assert changed == {
            *("title", "status", "erased_at", "erased_reason", "erased_by")
        }
        assert (after["title"], after["status"]) == ("erased", "erased")
        assert after["erased_by"] == CALLER
        [request] = stage.published
        assert json.loads(request["Message"])["data"]["erased_at"] == after["erased_at"]
        stage.call("erase", "PROJ-42", "--reason", "asked to")
        assert stage.tickets()[42] == after
        assert stage.published[1]["Message"] == request["Message"]

    @pytest.mark.parametrize("status", [{}, ERASED_BEFORE], ids=["plain", "erased"])
    def test_attribute_goes_when_this_release_does_not_know_it(
        self, stage: Stage, status: dict[str, str]
    ) -> None:
        """Also after an earlier erasure, whose date stays."""
        stage.put(42, **{"component": "Ann's laptop", "odd-name #1": "Ann"}, **status)

        for _ in range(2):
            stage.call("erase", "PROJ-42", "--reason", "asked to")

        ticket = stage.tickets()[42]
        assert ticket.keys() <= KEPT
        assert status.items() <= ticket.items()
        replayed = [
            request["MessageAttributes"]["replayed"]["StringValue"]
            for request in stage.published
        ]
        assert replayed == ["true" if status else "false", "true"]

    def test_seeds_end_stays_when_its_ticket_is_erased(self, stage: Stage) -> None:
        """Without it an audit would call the open place behind it explained."""
        stage.call("import", stage.file(30))
        before = stage.tickets()[30]

        stage.call("erase", "PROJ-30", "--reason", "asked to")

        after = stage.tickets()[30]
        for name in ("reserved_up_to", "reserved_after", "origin"):
            assert after[name] == before[name]


REQUEST = create_ticket(
    idempotency_key="k", priority="high", description="Ann is ill", reporter="Ann"
)


@pytest.fixture
def given(stage: Stage) -> Stage:
    """Return a stage with one chained ticket and the record of its key."""
    stage.give(REQUEST, 7)
    return stage


def erased(stage: Stage) -> str:
    """Erase the ticket; return the notes."""
    return stage.call("erase", "PROJ-7", "--reason", "asked to").err


def commitment(fingerprint: str = REQUEST.fingerprint) -> str:
    return commitment_of(SALT, fingerprint)


def chain_over(stage: Stage, fingerprint: str, previous: str = "") -> str:
    """Return the hash of the ticket if its text had another fingerprint."""
    erased = {"status": "erased", "commitment": commitment(fingerprint)}
    return chain_after(stage.tickets()[7] | {"number": 7} | erased, previous)


class TestErasedChain:
    """The sequence can be verified, and a guess of the text cannot be tested."""

    def test_commitment_replaces_salt_and_fingerprint_when_erased(
        self, given: Stage
    ) -> None:
        [ticket], [record] = given.tickets().values(), given.records().values()

        assert erased(given) == ""

        [after] = given.tickets().values()
        assert after.keys() <= KEPT
        assert after["commitment"] == commitment()
        assert after["chain"] == ticket["chain"]
        assert given.records() == {"k": record | {"fingerprint": "erased:"}}
        everything = f"{given.tickets()} {given.records()} {given.published}"
        assert SALT not in everything
        assert REQUEST.fingerprint not in everything

    def test_record_is_erased_when_only_a_transaction_shows_it(
        self, given: Stage
    ) -> None:
        """A ticket can be seen before the record that was written with it."""
        real = given.dynamodb
        given.services.dynamodb = AlteredClient(
            real,
            get_item=lambda **request: (
                {} if request["TableName"] == "keys" else real.get_item(**request)
            ),
            batch_get_item=lambda **_: {"Responses": {}},
        )

        assert erased(given) == ""

        assert given.records()["k"]["fingerprint"] == "erased:"

    @pytest.mark.parametrize(
        ("recorded", "fingerprint"),
        cases(
            {
                "record-of-a-later-release": ("v2:abc", "v2:abc"),
                "text-changed": ("v1:abc", "v1:abc"),
                "ticket-restored": ("erased:", REQUEST.fingerprint),
                "record-changed": ("v1:abc", REQUEST.fingerprint),
            }
        ),
    )
    @pytest.mark.parametrize("previous", ["", "v1:before"])
    def test_commitment_is_to_the_fingerprint_that_the_chain_covers(
        self, given: Stage, recorded: str, fingerprint: str, previous: str
    ) -> None:
        """The record's or the text's; the chain may start again at the ticket."""
        given.put(6, chain="v1:before")
        given.change("PROJ", 7, chain=chain_over(given, fingerprint, previous))
        given.change("PROJ", "k", fingerprint=recorded)

        assert erased(given) == ""

        assert given.tickets()[7]["commitment"] == commitment(fingerprint)
        assert given.records()["k"]["fingerprint"] == "erased:"

    @pytest.mark.parametrize(
        ("change", "why", "is_late"),
        [
            ({}, "its key has no record, or none any more", False),
            ({}, "its key has no record, or none any more", True),
            ({"number": 8}, "its key is recorded for PROJ-8", False),
            ({"number": 8}, "its key is recorded for PROJ-8", True),
            ({"fingerprint": "odd"}, "PROJ#k is malformed", False),
        ],
    )
    def test_ticket_alone_is_erased_when_the_record_is_not_its_own(
        self, given: Stage, change: dict[str, Any], why: str, *, is_late: bool
    ) -> None:
        """Or is no longer at the time of the transaction."""
        act = partial(given.change if change else given.lose, "PROJ", "k", **change)
        if is_late:
            given.before("transact_write_items", act)
        else:
            act()

        said = erased(given)

        assert "PROJ-7 alone is erased" in said
        assert why in said
        [ticket] = given.tickets().values()
        assert ticket["commitment"] == commitment()
        assert ticket.keys() <= KEPT
        assert given.records().keys() == ({"k"} if change else set())
        assert change.items() <= given.records().get("k", {}).items()
        assert "erased:" not in str(given.records())

    def test_erasure_is_completed_when_both_items_have_their_text_again(
        self, given: Stage
    ) -> None:
        """A backup brought it back, for example."""
        given.change("PROJ", 7, title="erased", **ERASED_BEFORE)

        erased(given)
        after = given.tickets(), given.records()

        [ticket] = after[0].values()
        assert ticket.keys() <= KEPT
        assert ticket["commitment"] == commitment()
        assert ERASED_BEFORE.items() <= ticket.items()
        assert after[1]["k"]["fingerprint"] == "erased:"
        assert erased(given) == ""
        assert (given.tickets(), given.records()) == after

    @pytest.mark.parametrize(
        "added",
        cases(
            {
                "nothing": {},
                "text": {"title": "Other"},
                "salt": {"salt": SALT},
                "salt-and-chain": {"salt": SALT, "chain": "v1:other"},
            }
        ),
    )
    def test_commitment_stays_when_an_erased_ticket_is_erased_again(
        self, given: Stage, added: dict[str, str]
    ) -> None:
        """The text of its title and another's record say nothing of it."""
        erased(given)
        given.change("PROJ", 7, **added)
        given.change("PROJ", "k", fingerprint="v1:other")

        assert erased(given) == ""

        assert given.tickets()[7]["commitment"] == commitment()
        assert given.records()["k"]["fingerprint"] == "erased:"

    def test_commitment_to_the_record_is_kept_and_told_when_none_fits(
        self, given: Stage
    ) -> None:
        given.change("PROJ", 7, chain="v1:other")
        given.change("PROJ", "k", fingerprint="v1:abc")

        assert "PROJ-7: neither its text nor the record" in erased(given)

        assert given.tickets()[7]["commitment"] == commitment("v1:abc")

    @pytest.mark.parametrize(
        ("lost", "recorded"),
        cases(
            {
                "text": ({"title": "erased", **ERASED_BEFORE}, {}),
                "salt": ({"salt": 1}, {}),
                "salt-alone": ({"salt": 1}, {"fingerprint": REQUEST.fingerprint}),
            }
        ),
    )
    def test_loss_is_told_when_the_commitment_cannot_be_computed(
        self, given: Stage, lost: dict[str, Any], recorded: dict[str, Any]
    ) -> None:
        """The text of an erased ticket is no longer that of the request."""
        given.change("PROJ", 7, **lost)
        (given.change if recorded else given.lose)("PROJ", "k", **recorded)

        said = erased(given)

        assert "PROJ-7: its salt or its fingerprint is lost" in said
        [ticket] = given.tickets().values()
        assert "commitment" not in ticket
        assert ticket.keys() <= KEPT


RACES = {
    "void": ("update_item", VOIDED_BEFORE),
    "erase": ("transact_write_items", ERASED_BEFORE),
}


@pytest.mark.parametrize("command", RACES)
class TestMeanwhile:
    """Concurrent writes of others stay, and nothing is announced."""

    def test_recorded_reason_stands_when_another_marks_the_ticket(
        self, given: Stage, command: str
    ) -> None:
        operation, marks = RACES[command]
        given.before(operation, partial(given.change, "PROJ", 7, **marks))

        ended = given.call(command, "PROJ-7", "--reason", "other")

        assert "for another reason: " in ended.err
        assert marks.items() <= given.tickets()[7].items()
        assert not given.published

    def test_nothing_is_written_when_another_deletes_the_ticket(
        self, given: Stage, command: str
    ) -> None:
        """An update would make an item that it does not find."""
        operation, marks = RACES[command]
        before = given.records()
        given.before(operation, partial(given.lose, "PROJ", 7))

        ended = given.call(command, "PROJ-7", "--reason", next(iter(marks)))

        assert "there is no ticket PROJ-7" in ended.err
        assert (given.tickets(), given.records()) == ({}, before)
        assert not given.published


@pytest.mark.parametrize(
    ("status", "operation", "failure"),
    [
        (
            "voided",
            "update_item",
            failing(client_error("TransactionConflictException")),
        ),
        ("erased", "transact_write_items", cancelled("None", "TransactionConflict")),
    ],
    ids=["void", "erase"],
)
def test_mark_is_retried_when_others_are_in_the_way(
    given: Stage, status: str, operation: str, failure: Callable[[], None]
) -> None:
    """A repeat of the request tries to put the record of its key, say."""
    given.before(operation, *[failure] * 3)
    ticket = find_ticket(given, "PROJ", 7)

    def marking(attempts: int) -> Marking:
        return Marking(given, status, "spam", CALLER, without_sleep(attempts))

    with pytest.raises(BusyError, match=r"PROJ-7: others kept .* 2 times in a row"):
        marking(2).apply(ticket)
    assert given.tickets()[7]["title"] == REQUEST.title
    assert marking(2).apply(ticket).ticket.status == status
