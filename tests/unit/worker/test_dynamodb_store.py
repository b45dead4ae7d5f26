"""The DynamoDB adapter's requests, and its reading of answers that emulators lack."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import create_ticket, create_tickets, ticket_fields
from tests.support.canned_aws import Reply, Wire, aws_client, error_reply
from tests.support.cases import cases
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.errors import (
    DamagedKeyRecordError,
    StoreThrottledError,
    StoreUnavailableError,
)
from ticket_numbering.messages import (
    MAX_BODY_BYTES,
    Assignment,
    CreateTicket,
    RequestKey,
)
from ticket_numbering.ports import (
    MAX_BLOCK_BYTES,
    MAX_BLOCK_REQUESTS,
    MAX_ITEM_BYTES,
    REQUEST_OVERHEAD_BYTES,
    Block,
    Cancelled,
    Committed,
    Reason,
    Refused,
    Slot,
    is_too_large,
)

ASSIGNED_AT = "2026-11-21T06:00:00.000Z"
MAX_NUMBER = 10**38 - 1

NONE = {"Code": "None"}
TAKEN = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
TICKET = {"project_id": {"S": "PROJ"}, "number": {"N": "1"}, "title": {"S": "Door"}}
ELSEWHERE = {"origin": {"S": "elsewhere"}}
RECORD: dict[str, Any] = {
    "id": {"S": "PROJ#order-7"},
    "project_id": {"S": "PROJ"},
    "idempotency_key": {"S": "order-7"},
    "number": {"N": "42"},
    "fingerprint": {"S": "v1:abc"},
    "assigned_at": {"S": ASSIGNED_AT},
    "expires_at": {"N": "1800000000"},
}
RECORDED = TAKEN | {"Item": RECORD}
ASSIGNMENT = Assignment(42, "v1:abc", ASSIGNED_AT)

DAMAGES = cases(
    {
        "number-missing": {"number": None},
        "number-zero": {"number": {"N": "0"}},
        "number-negative": {"number": {"N": "-1"}},
        "number-fraction": {"number": {"N": "1.5"}},
        "number-text": {"number": {"S": "42"}},
        "fingerprint-missing": {"fingerprint": None},
        "fingerprint-number": {"fingerprint": {"N": "1"}},
        "fingerprint-without-version": {"fingerprint": {"S": "abc"}},
        "time-missing": {"assigned_at": None},
        "time-number": {"assigned_at": {"N": "1"}},
    }
)
"""Attributes of a key's record to replace, or to leave out."""

SIMILAR_KEYS = cases(
    {
        "case-of-the-key": (("PROJ", "order-a"), ("PROJ", "order-A")),
        "case-of-the-project": (("PROJ", "order-7"), ("proj", "order-7")),
        "last-character": (("PROJ", "k" * 127 + "a"), ("PROJ", "k" * 127 + "b")),
        "key-and-project": (("A", "1#2"), ("A-1", "2")),
    }
)

CALLS: dict[str, tuple[Callable[[DynamoDBTicketStore], object], str]] = {
    "read": (lambda store: store.last_number("PROJ"), "Query of the last number"),
    "lookup": (
        lambda store: store.recorded([RequestKey("PROJ", "order-7")]),
        "lookup of idempotency keys",
    ),
    "write": (
        lambda store: store.write_block(block(create_tickets(1))),
        "write of a block",
    ),
}

Answer = Reply | Callable[[str], Exception]

IN_TROUBLE = cases(
    {
        "transaction-in-progress": (
            error_reply("TransactionInProgressException"),
            "TransactionInProgressException",
        ),
        "provisioned-throughput": (
            error_reply("ProvisionedThroughputExceededException"),
            "ProvisionedThroughputExceededException",
        ),
        "throttling": (error_reply("ThrottlingException"), "ThrottlingException"),
        "request-limit": (
            error_reply("RequestLimitExceeded"),
            "RequestLimitExceeded",
        ),
        "internal-error": (
            error_reply("InternalServerError", 500),
            "InternalServerError",
        ),
        "unavailable": (error_reply("ServiceUnavailable", 503), "ServiceUnavailable"),
        "bare-500": (Reply({}, 500), "500"),
        "dropped-connection": (
            lambda url: ConnectionClosedError(endpoint_url=url),
            "ConnectionClosedError",
        ),
        "no-connection": (
            lambda url: EndpointConnectionError(endpoint_url=url),
            "EndpointConnectionError",
        ),
        "connect-timeout": (
            lambda url: ConnectTimeoutError(endpoint_url=url),
            "ConnectTimeoutError",
        ),
        "read-timeout": (
            lambda url: ReadTimeoutError(endpoint_url=url),
            "ReadTimeoutError",
        ),
    }
)
LASTING = ["AccessDeniedException", "ResourceNotFoundException", "SomethingNew"]

ALPHABET = 'x\u00e9\u0628\U0001f6aa"\\'
"""Characters of one to four bytes, and those that JSON escapes."""


def some_line(longest: int) -> st.SearchStrategy[str]:
    """Return texts that a one-line field accepts."""
    return st.text(ALPHABET, min_size=1, max_size=longest)


def store_on(
    *answers: Answer, tries: int = 1, retention_days: int = 0
) -> tuple[DynamoDBTicketStore, Wire]:
    """Return a store, and the wire on which it gets these answers."""
    client = aws_client("dynamodb", tries)
    wire = Wire(client, answers)
    return DynamoDBTicketStore(client, "tickets", "keys", retention_days), wire


def cancelled(*reasons: Mapping[str, Any]) -> Reply:
    """Return the answer to a transaction that was cancelled."""
    return error_reply(
        "TransactionCanceledException", CancellationReasons=list(reasons)
    )


def block(requests: list[CreateTicket], first_number: int = 1) -> Block:
    """Return a block of project PROJ."""
    return Block("PROJ", first_number, ASSIGNED_AT, requests)


def slots_of(count: int, *reasons: Mapping[str, Any]) -> list[Slot]:
    """Return how the store reads the reasons of a block of so many requests."""
    store, _ = store_on(cancelled(*reasons))
    answer = store.write_block(block(create_tickets(count)))
    assert isinstance(answer, Cancelled)
    return list(answer.slots)


def damaged_record(damage: dict[str, Any]) -> dict[str, Any]:
    """Return the record of PROJ#order-7 with this damage."""
    item = RECORD | damage
    return {name: value for name, value in item.items() if value is not None}


def assert_is_damaged(answer: object) -> None:
    """Check that the answer names the record and holds nothing of it."""
    assert isinstance(answer, DamagedKeyRecordError)
    assert str(answer) == "damaged record of an idempotency key: PROJ#order-7"


class TestLastNumber:
    """The last number is read consistently, at the price of one item."""

    def test_last_number_asks_for_the_highest_sort_key(self) -> None:
        """One item, descending, consistent, and only its number."""
        store, wire = store_on(Reply({"Items": [{"number": {"N": "41"}}]}))

        number = store.last_number("PROJ")

        assert number == 41
        assert wire.requests == [
            {
                "TableName": "tickets",
                "KeyConditionExpression": "project_id = :project",
                "ExpressionAttributeValues": {":project": {"S": "PROJ"}},
                "ProjectionExpression": "#number",
                "ExpressionAttributeNames": {"#number": "number"},
                "ScanIndexForward": False,
                "Limit": 1,
                "ConsistentRead": True,
            }
        ]

    def test_last_number_is_zero_when_there_is_no_ticket(self) -> None:
        """A new project starts at one."""
        store, _ = store_on(Reply({"Items": [], "Count": 0}))

        assert store.last_number("PROJ") == 0

    def test_last_number_is_unavailable_when_the_answer_is_cut_off(self) -> None:
        """Nothing read is not the same as no ticket."""
        store, _ = store_on(Reply({}))

        with pytest.raises(StoreUnavailableError, match="ResponseParserError"):
            store.last_number("PROJ")

    @pytest.mark.parametrize(("answer", "code"), IN_TROUBLE)
    def test_last_number_is_unavailable_when_dynamodb_is_in_trouble(
        self, answer: Answer, code: str
    ) -> None:
        """No number is made up."""
        store, _ = store_on(answer)

        with pytest.raises(StoreUnavailableError, match=f": {code}$") as caught:
            store.last_number("PROJ")

        assert caught.value.__cause__ is not None

    @pytest.mark.parametrize("code", LASTING)
    def test_last_number_fails_as_it_is_when_the_error_lasts(self, code: str) -> None:
        """A missing table is no passing trouble."""
        store, _ = store_on(error_reply(code))

        with pytest.raises(ClientError, match=code):
            store.last_number("PROJ")


class TestRecorded:
    """Recorded assignments are read consistently, a hundred at a time."""

    def test_recorded_asks_for_the_keys_of_the_requests(self) -> None:
        """Project and key make the id, and the read is consistent."""
        store, wire = store_on(Reply({"Responses": {"keys": [RECORD]}}))
        key = RequestKey("PROJ", "order-7")

        found = store.recorded([key])

        assert found == {key: ASSIGNMENT}
        assert wire.requests == [
            {
                "RequestItems": {
                    "keys": {
                        "Keys": [{"id": {"S": "PROJ#order-7"}}],
                        "ConsistentRead": True,
                    }
                }
            }
        ]

    def test_recorded_asks_nothing_when_there_are_no_keys(self) -> None:
        """An empty request would be refused."""
        store, wire = store_on()

        assert store.recorded([]) == {}
        assert wire.requests == []

    @pytest.mark.parametrize(
        ("count", "lengths"), [(100, [100]), (101, [100, 1]), (250, [100, 100, 50])]
    )
    def test_recorded_asks_for_a_hundred_keys_at_a_time(
        self, count: int, lengths: list[int]
    ) -> None:
        """Each key is asked for once."""
        store, wire = store_on(*[Reply({"Responses": {"keys": []}})] * len(lengths))
        keys = [RequestKey("PROJ", str(number)) for number in range(count)]

        store.recorded(keys)

        asked = [call["RequestItems"]["keys"]["Keys"] for call in wire.requests]
        assert [len(some) for some in asked] == lengths
        assert [each["id"]["S"] for some in asked for each in some] == [
            f"PROJ#{key.idempotency_key}" for key in keys
        ]

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_recorded_finds_the_neighbours_when_a_record_is_damaged(
        self, damage: dict[str, Any]
    ) -> None:
        """The answer of the one is an error, which names its record."""
        sound = RECORD | {"id": {"S": "PROJ#order-8"}}
        reply = Reply({"Responses": {"keys": [damaged_record(damage), sound]}})
        store, _ = store_on(reply)
        one, other = RequestKey("PROJ", "order-7"), RequestKey("PROJ", "order-8")

        found = store.recorded([one, other])

        assert found[other] == ASSIGNMENT
        assert_is_damaged(found[one])

    def test_recorded_leaves_out_what_was_not_processed(self) -> None:
        """The lookup is a shortcut: the key's own condition gives the answer later."""
        unprocessed = {"keys": {"Keys": [{"id": {"S": "PROJ#order-8"}}]}}
        store, wire = store_on(
            Reply(
                {
                    "Responses": {"keys": [RECORD]},
                    "UnprocessedKeys": unprocessed,
                }
            )
        )

        found = store.recorded(
            [RequestKey("PROJ", "order-8"), RequestKey("PROJ", "order-7")]
        )

        assert list(found) == [RequestKey("PROJ", "order-7")]
        assert len(wire.requests) == 1

    def test_recorded_leaves_out_everything_when_nothing_was_processed(self) -> None:
        """An answer without our table is an answer without items."""
        store, _ = store_on(Reply({"Responses": {}}))

        assert store.recorded([RequestKey("PROJ", "order-7")]) == {}

    def test_recorded_is_unavailable_when_the_answer_is_cut_off(self) -> None:
        """Nothing read is not the same as nothing recorded."""
        store, _ = store_on(Reply({}))

        with pytest.raises(StoreUnavailableError, match="ResponseParserError"):
            store.recorded([RequestKey("PROJ", "order-7")])

    @pytest.mark.parametrize(("answer", "code"), IN_TROUBLE)
    def test_recorded_is_unavailable_when_dynamodb_is_in_trouble(
        self, answer: Answer, code: str
    ) -> None:
        """A failed lookup is not an empty one."""
        store, _ = store_on(answer)

        with pytest.raises(StoreUnavailableError, match=f": {code}$") as caught:
            store.recorded([RequestKey("PROJ", "order-7")])

        assert caught.value.__cause__ is not None


class TestBlockRequest:
    """A block is one transaction of conditional puts, and nothing else."""

    def test_write_block_puts_each_ticket_and_its_key(self) -> None:
        """The exact request: conditions on all, the old item only of keys."""
        store, wire = store_on(Reply())
        request = create_ticket("PROJ", "order-7", title="Door")

        answer = store.write_block(block([request], first_number=42))

        (sent,) = wire.requests
        assert answer == Committed()
        assert sent.pop("ClientRequestToken")
        assert sent == {
            "TransactItems": [
                {
                    "Put": {
                        "TableName": "tickets",
                        "Item": {
                            "project_id": {"S": "PROJ"},
                            "number": {"N": "42"},
                            "idempotency_key": {"S": "order-7"},
                            "title": {"S": "Door"},
                            "priority": {"S": "medium"},
                            "assigned_at": {"S": ASSIGNED_AT},
                        },
                        "ConditionExpression": "attribute_not_exists(project_id)",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
                {
                    "Put": {
                        "TableName": "keys",
                        "Item": {
                            "id": {"S": "PROJ#order-7"},
                            "project_id": {"S": "PROJ"},
                            "idempotency_key": {"S": "order-7"},
                            "number": {"N": "42"},
                            "fingerprint": {"S": request.fingerprint},
                            "assigned_at": {"S": ASSIGNED_AT},
                        },
                        "ConditionExpression": "attribute_not_exists(id)",
                        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                    }
                },
            ]
        }

    def test_write_block_keeps_every_field_of_a_full_ticket(self) -> None:
        """What the producer sent is what the ticket holds."""
        store, wire = store_on(Reply())
        fields: dict[str, Any] = {
            "title": "Caf\u00e9 \U0001f6aa",
            "description": "",
            "priority": "urgent",
            "reporter": "Ada",
            "labels": ["b", "a"],
            "attributes": {"floor": "0", "room": ""},
        }

        store.write_block(block([create_ticket("PROJ", "order-7", **fields)]))

        item = wire.requests[0]["TransactItems"][0]["Put"]["Item"]
        assert item == {
            "project_id": {"S": "PROJ"},
            "number": {"N": "1"},
            "idempotency_key": {"S": "order-7"},
            "title": {"S": "Caf\u00e9 \U0001f6aa"},
            "description": {"S": ""},
            "priority": {"S": "urgent"},
            "reporter": {"S": "Ada"},
            "labels": {"L": [{"S": "b"}, {"S": "a"}]},
            "attributes": {"M": {"floor": {"S": "0"}, "room": {"S": ""}}},
            "assigned_at": {"S": ASSIGNED_AT},
        }

    def test_write_block_numbers_requests_in_their_order(self) -> None:
        """Fifty requests make a hundred puts, ticket before key, without a hole."""
        store, wire = store_on(Reply())
        requests = create_tickets(50)

        store.write_block(block(requests, first_number=7))

        puts = [action["Put"] for action in wire.requests[0]["TransactItems"]]
        assert [put["TableName"] for put in puts] == ["tickets", "keys"] * 50
        numbers = [int(put["Item"]["number"]["N"]) for put in puts]
        assert numbers == [number for number in range(7, 57) for _ in "tk"]
        keys = [put["Item"]["idempotency_key"]["S"] for put in puts]
        assert keys[::2] == keys[1::2] == [each.idempotency_key for each in requests]

    def test_write_block_makes_no_put_without_its_condition(self) -> None:
        """Nothing is ever overwritten."""
        store, wire = store_on(Reply())

        store.write_block(block(create_tickets(3)))

        puts = [action["Put"] for action in wire.requests[0]["TransactItems"]]
        conditions = [put["ConditionExpression"] for put in puts]
        assert (
            conditions
            == [
                "attribute_not_exists(project_id)",
                "attribute_not_exists(id)",
            ]
            * 3
        )
        old = [put.get("ReturnValuesOnConditionCheckFailure") for put in puts]
        assert old == ["ALL_OLD"] * 6

    @pytest.mark.parametrize(("one", "other"), SIMILAR_KEYS)
    def test_write_block_keeps_keys_apart_when_they_differ_little(
        self, one: tuple[str, str], other: tuple[str, str]
    ) -> None:
        """Requests that share a record would share a number, or be poison."""
        store, wire = store_on(Reply())

        store.write_block(block([create_ticket(*one), create_ticket(*other)]))

        puts = [action["Put"] for action in wire.requests[0]["TransactItems"]]
        ids = {put["Item"]["id"]["S"] for put in puts[1::2]}
        assert len(ids) == 2

    def test_limits_of_a_block_are_those_of_a_transaction(self) -> None:
        """DynamoDB takes a hundred actions and 4 MB, and refuses what exceeds them."""
        assert 2 * MAX_BLOCK_REQUESTS == 100
        assert MAX_BLOCK_BYTES == 4_194_304

    def test_write_block_sets_no_expiry_when_nobody_asks_for_one(self) -> None:
        """A key is kept for ever unless somebody says otherwise."""
        client = aws_client("dynamodb")
        wire = Wire(client, [Reply()])

        DynamoDBTicketStore(client, "tickets", "keys").write_block(
            block(create_tickets(1))
        )

        puts = [action["Put"] for action in wire.requests[0]["TransactItems"]]
        assert all("expires_at" not in put["Item"] for put in puts)

    def test_write_block_sets_an_expiry_when_keys_are_not_kept_for_ever(self) -> None:
        """Only the key expires, in whole seconds counted from its assignment."""
        store, wire = store_on(Reply(), retention_days=90)

        store.write_block(block(create_tickets(1)))

        ticket, key = (
            action["Put"]["Item"] for action in wire.requests[0]["TransactItems"]
        )
        assigned = datetime(2026, 11, 21, 6, tzinfo=UTC).timestamp()
        assert key["expires_at"] == {"N": str(int(assigned) + 90 * 24 * 60 * 60)}
        assert "expires_at" not in ticket


class TestRequestToken:
    """botocore's own retries repeat the transaction, they do not add one."""

    def test_write_block_repeats_its_token_when_botocore_retries(self) -> None:
        """An answer that was lost between the tries does no harm."""
        store, wire = store_on(
            lambda url: ConnectionClosedError(endpoint_url=url),
            Reply({}, 500),
            Reply(),
            tries=3,
        )

        answer = store.write_block(block(create_tickets(1)))

        tokens = {request["ClientRequestToken"] for request in wire.requests}
        assert answer == Committed()
        assert len(wire.requests) == 3
        assert len(tokens) == 1

    def test_write_block_has_a_new_token_for_every_call(self) -> None:
        """A block that is built afresh is a transaction of its own."""
        store, wire = store_on(Reply(), Reply())
        same = block(create_tickets(1))

        store.write_block(same)
        store.write_block(same)

        one, other = (request["ClientRequestToken"] for request in wire.requests)
        assert one != other


class TestCancellation:
    """Every reason is read, position by position."""

    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            ("None", Reason.NONE),
            ("ConditionalCheckFailed", Reason.CONDITION_FAILED),
            ("TransactionConflict", Reason.CONFLICT),
            ("ProvisionedThroughputExceeded", Reason.THROTTLED),
            ("ThrottlingError", Reason.THROTTLED),
            ("ValidationError", Reason.INVALID),
            ("ItemCollectionSizeLimitExceeded", Reason.UNKNOWN),
            ("DuplicateItem", Reason.UNKNOWN),
            ("SomethingNew", Reason.UNKNOWN),
            ("", Reason.UNKNOWN),
        ],
    )
    def test_write_block_reads_the_reason_of_a_ticket(
        self, code: str, reason: Reason
    ) -> None:
        """Each documented code has its meaning, and an unknown one is unknown."""
        there = {"Code": code, "Item": TICKET}

        assert slots_of(1, there, NONE) == [Slot(ticket=reason)]

    @pytest.mark.parametrize(
        "shown",
        cases(
            {
                "reserved": {"Item": TICKET | ELSEWHERE | {"status": {"S": "x"}}},
                "imported": {"Item": TICKET | ELSEWHERE},
                "not-shown": {},
                "empty": {"Item": {}},
            }
        ),
    )
    def test_write_block_tells_that_a_number_is_from_elsewhere_when_it_may_be(
        self, shown: dict[str, Any]
    ) -> None:
        """A number is ours only if DynamoDB shows a ticket of ours."""
        [slot] = slots_of(1, TAKEN | shown, NONE)

        assert slot == Slot(Reason.CONDITION_FAILED, is_elsewhere=True)

    @pytest.mark.parametrize(
        ("code", "reason"),
        [
            ("TransactionConflict", Reason.CONFLICT),
            ("ProvisionedThroughputExceeded", Reason.THROTTLED),
            ("ThrottlingError", Reason.THROTTLED),
            ("ValidationError", Reason.INVALID),
            ("ItemCollectionSizeLimitExceeded", Reason.UNKNOWN),
            ("SomethingNew", Reason.UNKNOWN),
        ],
    )
    def test_write_block_reads_the_reason_of_a_key(
        self, code: str, reason: Reason
    ) -> None:
        """A key's reasons are told apart from its ticket's."""
        assert slots_of(1, NONE, {"Code": code}) == [Slot(key=reason)]

    def test_write_block_reads_the_recorded_assignment(self) -> None:
        """The old item tells the number, without another read."""
        assert slots_of(1, NONE, RECORDED) == [
            Slot(key=Reason.CONDITION_FAILED, recorded=ASSIGNMENT)
        ]

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_write_block_reads_the_neighbours_when_a_record_is_damaged(
        self, damage: dict[str, Any]
    ) -> None:
        """The request that it belongs to has an error for an answer."""
        old = TAKEN | {"Item": damaged_record(damage)}

        one, other = slots_of(2, NONE, old, NONE, RECORDED)

        assert other.recorded == ASSIGNMENT
        assert_is_damaged(one.recorded)

    @pytest.mark.parametrize("item", [{}, {"Item": {}}], ids=["missing", "empty"])
    def test_write_block_knows_nothing_when_a_failed_key_shows_no_item(
        self, item: dict[str, Any]
    ) -> None:
        """A key that failed without its number is no replay."""
        assert slots_of(1, NONE, TAKEN | item) == [Slot(key=Reason.UNKNOWN)]

    def test_write_block_reads_mixed_reasons_by_position(self) -> None:
        """Nobody's reason is taken for another's."""
        slots = slots_of(
            5,
            *(TAKEN | {"Item": TICKET}, NONE),
            *(TAKEN | {"Item": TICKET}, RECORDED),
            *(NONE, {"Code": "TransactionConflict"}),
            *({"Code": "ThrottlingError"}, {"Code": "ValidationError"}),
            *(NONE, NONE),
        )

        assert slots == [
            Slot(ticket=Reason.CONDITION_FAILED),
            Slot(Reason.CONDITION_FAILED, Reason.CONDITION_FAILED, ASSIGNMENT),
            Slot(key=Reason.CONFLICT),
            Slot(Reason.THROTTLED, Reason.INVALID),
            Slot(),
        ]

    @pytest.mark.parametrize(
        "reasons",
        cases(
            {
                "empty": [],
                "too-few": [TAKEN, NONE],
                "odd": [TAKEN, NONE, NONE],
                "too-many": [TAKEN, NONE, NONE, NONE, NONE, NONE],
            }
        ),
    )
    def test_write_block_knows_nothing_when_reasons_do_not_match_the_block(
        self, reasons: list[dict[str, Any]]
    ) -> None:
        """Reasons that cannot be told apart by position say nothing."""
        unknown = Slot(Reason.UNKNOWN, Reason.UNKNOWN)

        assert slots_of(2, *reasons) == [unknown] * 2

    @pytest.mark.parametrize(
        "members",
        cases(
            {
                "missing": {},
                "null": {"CancellationReasons": None},
                "without-codes": {"CancellationReasons": [{}, {}]},
                "with-null-codes": {
                    "CancellationReasons": [{"Code": None}, {"Code": None}]
                },
            }
        ),
    )
    def test_write_block_knows_nothing_when_there_are_no_reasons(
        self, members: dict[str, Any]
    ) -> None:
        """A cancellation without reasons is no answer to anything."""
        store, _ = store_on(error_reply("TransactionCanceledException", **members))

        answer = store.write_block(block(create_tickets(1)))

        assert answer == Cancelled([Slot(Reason.UNKNOWN, Reason.UNKNOWN)])


class TestBlockFailure:
    """Errors without reasons: refused, unknown, or somebody's mistake."""

    def test_write_block_is_refused_when_the_request_is_invalid(self) -> None:
        """Too large as a whole, or the same item twice."""
        store, _ = store_on(error_reply("ValidationException"))

        answer = store.write_block(block(create_tickets(2)))

        assert answer == Refused("ValidationException")

    def test_write_block_is_unavailable_when_a_refusal_is_cut_off(self) -> None:
        """Without a code nobody knows why, and the same block may succeed."""
        store, _ = store_on(Reply({}, status=400))

        with pytest.raises(StoreUnavailableError, match="400"):
            store.write_block(block(create_tickets(1)))

    @pytest.mark.parametrize(("answer", "code"), IN_TROUBLE)
    def test_write_block_is_unavailable_when_dynamodb_is_in_trouble(
        self, answer: Answer, code: str
    ) -> None:
        """Whether the block is committed is unknown, and the cause is kept."""
        store, _ = store_on(answer)

        with pytest.raises(StoreUnavailableError, match=f": {code}$") as caught:
            store.write_block(block(create_tickets(1)))

        assert caught.value.__cause__ is not None

    @pytest.mark.parametrize("code", [*LASTING, "IdempotentParameterMismatchException"])
    def test_write_block_fails_as_it_is_when_the_error_lasts(self, code: str) -> None:
        """What we do not know is neither poison nor a passing trouble."""
        store, _ = store_on(error_reply(code))

        with pytest.raises(ClientError, match=code):
            store.write_block(block(create_tickets(1)))


class TestReason:
    """An error names the call that failed, for the log's reader."""

    @pytest.mark.parametrize(
        "code",
        [
            "ThrottlingException",
            "ProvisionedThroughputExceededException",
            "RequestLimitExceeded",
        ],
    )
    @pytest.mark.parametrize(("call", "name"), cases(CALLS))
    def test_error_names_the_call_and_the_code_when_dynamodb_throttles(
        self, call: Callable[[DynamoDBTicketStore], object], name: str, code: str
    ) -> None:
        """A throttled read and a throttled write have different cures."""
        store, _ = store_on(error_reply(code))

        with pytest.raises(StoreThrottledError) as caught:
            call(store)

        assert str(caught.value) == f"{name}: {code}"

    @pytest.mark.parametrize(("call", "name"), cases(CALLS))
    def test_error_speaks_of_no_throttling_when_dynamodb_fails(
        self, call: Callable[[DynamoDBTicketStore], object], name: str
    ) -> None:
        """Longer waits would not help."""
        store, _ = store_on(error_reply("InternalServerError", 500))

        with pytest.raises(StoreUnavailableError, match=name) as caught:
            call(store)

        assert not isinstance(caught.value, StoreThrottledError)


class TestEveryValidTicketFits:
    """No valid request is too large for an item, or larger than its block assumes."""

    def test_write_block_of_the_largest_ticket_stays_under_the_item_limit(self) -> None:
        """Every field at its bound, and a body of the full 256 KiB."""
        request = largest_request()

        ticket, key = items_of(request, MAX_NUMBER)

        assert item_size(ticket) > 0.95 * MAX_BODY_BYTES
        assert item_size(ticket) < 0.75 * MAX_ITEM_BYTES
        assert not is_too_large(request)
        assert item_size(key) < REQUEST_OVERHEAD_BYTES

    @given(
        st.fixed_dictionaries(
            {
                "project_id": st.text("aZ9._-", min_size=1, max_size=64),
                "idempotency_key": st.text("!~#", min_size=1, max_size=128),
                "title": some_line(200),
            },
            optional={
                "description": st.text(ALPHABET + "\n\t"),
                "priority": st.sampled_from(["low", "medium", "high", "urgent"]),
                "reporter": some_line(254),
                "labels": st.lists(some_line(64), max_size=20),
                "attributes": st.dictionaries(
                    some_line(128), st.text(ALPHABET), max_size=50
                ),
            },
        )
    )
    def test_write_block_writes_no_more_bytes_than_the_request_tells(
        self, fields: dict[str, Any]
    ) -> None:
        """Blocks are cut by this size: both items of a request stay below it."""
        request = CreateTicket.parse(json.dumps(fields))

        written = sum(item_size(item) for item in items_of(request, MAX_NUMBER))

        assert written <= request.size + REQUEST_OVERHEAD_BYTES


def largest_request() -> CreateTicket:
    """Return a request with every field full, whose body has the largest size."""
    door = "\U0001f6aa"
    fields = ticket_fields(
        "p" * 64,
        "k" * 128,
        title=door * 200,
        priority="medium",
        reporter=door * 254,
        labels=[door * 64] * 20,
        attributes={f"{at:02}" + door * 126: door * 300 for at in range(50)},
        description="",
    )
    room = MAX_BODY_BYTES - len(compact(fields).encode())
    body = compact(fields | {"description": "d" * (room % 4) + door * (room // 4)})
    assert len(body.encode()) == MAX_BODY_BYTES
    return CreateTicket.parse(body)


def compact(fields: dict[str, Any]) -> str:
    """Return JSON without a byte to spare."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def items_of(request: CreateTicket, number: int) -> list[dict[str, Any]]:
    """Return the items that the store writes for a request."""
    written: list[dict[str, Any]] = []

    def remember(*, TransactItems: list[dict[str, Any]]) -> None:  # noqa: N803
        written.extend(action["Put"]["Item"] for action in TransactItems)

    client: Any = SimpleNamespace(transact_write_items=remember)
    store = DynamoDBTicketStore(client, "tickets", "keys", retention_days=90)
    store.write_block(block([request], number))
    return written


def item_size(attributes: dict[str, dict[str, Any]]) -> int:
    """Return an item's size by DynamoDB's documented rules."""
    return sum(
        len(name.encode()) + _value_size(value) for name, value in attributes.items()
    )


def _value_size(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "N":
        return 1 + (len(content) + 1) // 2
    if kind == "L":
        return 3 + sum(1 + _value_size(each) for each in content)
    assert kind == "M"
    return 3 + item_size(content) + len(content)
