"""The DynamoDB adapter's requests, and its reading of answers that emulators lack."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from botocore.exceptions import ConnectionClosedError
from hypothesis import example, given

from operators.model_services import ModelServices
from simulation.aws.items import Item, size_of
from simulation.aws.tables import KEYS, TICKETS
from tests.support.builders import ASSIGNED_AT, SALT, block_of, create_tickets
from tests.support.canned_aws import Reply, Wire, aws_client, error_reply
from tests.support.cases import cases
from tests.support.sample_messages import (
    DOOR,
    FULL,
    VERSION_1,
    VERSION_1_REQUESTS,
    assigned_in,
)
from tests.support.schema_values import REQUESTS
from ticket_numbering.adapters import cancellation_reasons
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.allocation.block import MAX_ITEM_BYTES, REQUEST_OVERHEAD_BYTES
from ticket_numbering.allocation.store import (
    MAX_KEYS_PER_READ,
    BlockInvalid,
    Cancelled,
    Committed,
    Reason,
    Slot,
)
from ticket_numbering.contract.dynamodb_items import (
    HEAD_ATTRIBUTES,
    key_id,
    key_item,
    key_of_id,
    ticket_id,
    ticket_item,
)
from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    DamagedSequenceError,
    SequenceContentionError,
    StoreRefusedError,
    StoreThrottledError,
    StoreUnavailableError,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import (
    MAX_BODY_BYTES,
    Assignment,
    CreateTicket,
    RequestKey,
)

MAX_NUMBER = 10**38 - 1

KEY = RequestKey("PROJ", "order-7")
NONE = {"Code": "None"}
CONFLICT = {"Code": "TransactionConflict"}
TAKEN = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
CHAIN = "v1:" + "a" * 43
SAMPLE = VERSION_1["samples"]["full"]
TICKET = ticket_id("PROJ", 1) | {
    "title": {"S": "Door"},
    "assigned_at": {"S": ASSIGNED_AT},
    "chain": {"S": CHAIN},
}
TAKEN_TICKET = TAKEN | {"Item": TICKET}
EXTERNAL = {"origin": {"S": "elsewhere"}}
RECORD: dict[str, Any] = {
    **TypeSerializer().serialize(SAMPLE["record"])["M"],
    "expires_at": {"N": "1800000000"},
}
SOUND = RECORD | {"id": {"S": "PROJ#order-8"}}
RECORDED = TAKEN | {"Item": RECORD}
TAKER = Head(1, ASSIGNED_AT, CHAIN)
ASSIGNMENT = assigned_in(SAMPLE)
UNKNOWN = Slot(Reason.UNKNOWN, Reason.UNKNOWN)

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

Answer = Reply | Callable[[str], Exception]
Call = Callable[[DynamoDBTicketStore], object]

READS: dict[str, tuple[Call, str]] = {
    "read": (lambda store: store.head("PROJ"), "Query of the last number"),
    "lookup": (lambda store: store.read_keys([KEY]), "lookup of idempotency keys"),
    "certain-lookup": (
        lambda store: store.read_keys_in_transaction([KEY]),
        "transactional lookup of idempotency keys",
    ),
}
CALLS = READS | {
    "write": (
        lambda store: store.write_block(block_of(create_tickets(1))),
        "write of a block",
    )
}


def store_on(*answers: Answer, attempts: int = 1) -> tuple[DynamoDBTicketStore, Wire]:
    """Return a store, and the wire on which it gets these answers."""
    client = aws_client("dynamodb", attempts)
    wire = Wire(client, answers)
    return DynamoDBTicketStore(client, TICKETS, KEYS), wire


def store_of(*items: Item, **options: int) -> tuple[DynamoDBTicketStore, Any]:
    """Return a store on the model's tables with these items, and its client."""
    dynamodb = ModelServices().dynamodb
    dynamodb.put(*items)
    return DynamoDBTicketStore(dynamodb, TICKETS, KEYS, **options), dynamodb


def cancelled(*reasons: Mapping[str, Any]) -> Reply:
    """Return the answer to a transaction that was cancelled."""
    return error_reply(
        "TransactionCanceledException", CancellationReasons=list(reasons)
    )


def slots_of(count: int, *reasons: Mapping[str, Any]) -> list[Slot]:
    """Return how the store reads the reasons of a block of this length."""
    store, _ = store_on(cancelled(*reasons))
    answer = store.write_block(block_of(create_tickets(count)))
    assert isinstance(answer, Cancelled)
    return list(answer.slots)


def puts_of(dynamodb: Any) -> list[Any]:
    """Return the puts of the only transaction."""
    [request] = dynamodb.requests["transact_write_items"]
    assert request.keys() == {"TransactItems"}
    return [action["Put"] for action in request["TransactItems"]]


def damaged_record(damage: dict[str, Any]) -> dict[str, Any]:
    """Return the record of PROJ#order-7 with this damage."""
    item = RECORD | damage
    return {name: value for name, value in item.items() if value is not None}


def assert_is_damaged(answer: object) -> None:
    """Check that the answer names the record and holds nothing of it."""
    assert isinstance(answer, DamagedKeyRecordError)
    assert str(answer) == "damaged record of an idempotency key: PROJ#order-7"


class TestHead:
    """The head is read consistently, at the price of one item."""

    @pytest.mark.parametrize(
        ("item", "head"),
        cases(
            {
                "highest": (ticket_id("PROJ", 10**15), Head(10**15, "")),
                "external": (TICKET | EXTERNAL, replace(TAKER, assigned_at=None)),
                "other-types": (
                    TICKET | {"assigned_at": {"N": "1"}, "chain": {"N": "1"}},
                    Head(1, ""),
                ),
            }
        ),
    )
    def test_head_is_the_item_with_the_highest_sort_key(
        self, item: Item, head: Head
    ) -> None:
        """No item of another program fails a request."""
        store, dynamodb = store_of(ticket_id("PROJ", 1), item)

        assert store.head("PROJ") == head
        [request] = dynamodb.requests["query"]
        assert (request["Limit"], request["ConsistentRead"]) == (1, True)
        assert {*request["ExpressionAttributeNames"].values()} == {*HEAD_ATTRIBUTES}
        assert request["ProjectionExpression"].count("#") == len(HEAD_ATTRIBUTES)


class TestRecorded:
    """Recorded assignments are read consistently, in one call."""

    def test_read_keys_asks_for_every_key_consistently(self) -> None:
        store, dynamodb = store_of()
        keys = [RequestKey("PROJ", str(number)) for number in range(MAX_KEYS_PER_READ)]

        assert store.read_keys(keys) == {}
        ids = [{"id": {"S": f"PROJ#{key}"}} for _, key in keys]
        assert dynamodb.requests["batch_get_item"] == [
            {"RequestItems": {"keys": {"Keys": ids, "ConsistentRead": True}}}
        ]

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_read_keys_finds_the_neighbours_when_a_record_is_damaged(
        self, damage: dict[str, Any]
    ) -> None:
        store, _ = store_of(damaged_record(damage), SOUND)
        other = RequestKey("PROJ", "order-8")

        records = store.read_keys([KEY, other])

        assert records[other] == ASSIGNMENT
        assert_is_damaged(records[KEY])

    @pytest.mark.parametrize(
        ("responses", "records"), [({"keys": [RECORD]}, {KEY: ASSIGNMENT}), ({}, {})]
    )
    def test_read_keys_leaves_out_what_was_not_processed(
        self, responses: dict[str, Any], records: dict[RequestKey, Assignment]
    ) -> None:
        """The lookup is a shortcut: the key's own condition gives the answer later."""
        unprocessed = {"keys": {"Keys": [{"id": {"S": "PROJ#order-8"}}]}}
        reply = Reply({"Responses": responses, "UnprocessedKeys": unprocessed})
        store, wire = store_on(reply)

        assert store.read_keys([RequestKey("PROJ", "order-8"), KEY]) == records
        assert len(wire.requests) == 1


class TestTransactionalRead:
    """Records are read for certain in a transaction."""

    def test_transactional_read_leaves_out_keys_without_a_record_only(self) -> None:
        store, _ = store_of(SOUND, damaged_record({"number": None}))
        keys = [RequestKey("PROJ", name) for name in ("none", "order-8", "order-7")]

        records = store.read_keys_in_transaction(keys)

        assert records.keys() == {*keys[1:]}
        assert records[keys[1]] == ASSIGNMENT
        assert_is_damaged(records[keys[2]])

    @pytest.mark.parametrize(
        ("reply", "error"),
        [
            (cancelled(NONE, CONFLICT), SequenceContentionError),
            (cancelled(NONE, {"Code": "New"}), StoreUnavailableError),
            (error_reply("TransactionCanceledException"), StoreUnavailableError),
            (cancelled(CONFLICT, {"Code": "ThrottlingError"}), StoreThrottledError),
        ],
        ids=["conflict", "unknown", "no-reasons", "throttled"],
    )
    def test_transactional_read_raises_what_a_retry_can_fix_when_nothing_is_certain(
        self, reply: Reply, error: type[Exception]
    ) -> None:
        store, _ = store_on(reply)

        with pytest.raises(error, match=r"lookup.*: TransactionCanceled") as caught:
            store.read_keys_in_transaction([KEY, RequestKey("PROJ", "order-8")])

        assert type(caught.value) is error

    def test_transactional_read_takes_no_key_for_free_when_the_answer_leaves_it_out(
        self,
    ) -> None:
        store, _ = store_on(Reply({"Responses": [{"Item": RECORD}]}))

        with pytest.raises(ValueError, match="shorter"):
            store.read_keys_in_transaction([KEY, RequestKey("PROJ", "order-8")])


class TestBlockRequest:
    """A block is one transaction of conditional puts, and nothing else."""

    @pytest.mark.parametrize(("sample", "request_"), VERSION_1_REQUESTS)
    def test_write_block_puts_each_ticket_and_its_key(
        self, sample: Any, request_: Any
    ) -> None:
        """A reader of the key's record alone can test no guess of the text."""
        store, dynamodb = store_of()
        request = CreateTicket.parse(json.dumps(request_))
        ticket, record = sample["ticket"], sample["record"]
        previous = VERSION_1["previous"]
        block = block_of([request], ticket["number"], ticket["assigned_at"], previous)

        assert store.write_block(block) == Committed()
        assert puts_of(dynamodb) == [
            {
                "TableName": "tickets",
                "Item": TypeSerializer().serialize(ticket)["M"],
                "ConditionExpression": "attribute_not_exists(project_id)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
            {
                "TableName": "keys",
                "Item": TypeSerializer().serialize(record)["M"],
                "ConditionExpression": "attribute_not_exists(id)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        ]

    def test_write_block_adds_an_expiry_to_the_key_when_it_is_retained(self) -> None:
        store, dynamodb = store_of(retention_days=90)

        store.write_block(block_of(create_tickets(1)))

        _, key = puts_of(dynamodb)
        assigned = int(datetime(2026, 11, 21, 6, tzinfo=UTC).timestamp())
        assert key["Item"]["expires_at"] == {"N": str(assigned + 90 * 24 * 60 * 60)}

    def test_write_block_repeats_its_token_only_when_botocore_retries(self) -> None:
        """An answer that was lost between the attempts does no harm."""
        lost: list[Answer] = [
            lambda url: ConnectionClosedError(endpoint_url=url),
            Reply({}, 500),
        ]
        store, wire = store_on(*lost, Reply(), Reply(), attempts=3)
        same = block_of(create_tickets(1))

        assert store.write_block(same) == Committed()
        assert store.write_block(same) == Committed()
        tokens = [request["ClientRequestToken"] for request in wire.requests]
        assert tokens[0] == tokens[1] == tokens[2] != tokens[3]


@given(REQUESTS)
def test_record_of_a_key_is_that_of_no_other_key(message: dict[str, Any]) -> None:
    """For any length and any characters of its parts."""
    key = CreateTicket.model_validate(message).key

    assert key_of_id(key_id(key)) == key


class TestCancellation:
    """Every reason is read, position by position."""

    @pytest.mark.parametrize(
        "shown",
        cases(
            {
                "reserved": {"Item": TICKET | EXTERNAL | {"status": {"S": "x"}}},
                "imported": {"Item": TICKET | EXTERNAL},
                "not-shown": {},
                "empty": {"Item": {}},
            }
        ),
    )
    def test_write_block_tells_that_a_number_is_external_when_it_may_be(
        self, shown: dict[str, Any]
    ) -> None:
        """A number counts as a worker's only if DynamoDB shows its ticket."""
        [slot] = slots_of(1, TAKEN | shown, NONE)

        assert slot == Slot(Reason.CONDITION_FAILED, taken_by=None)

    @pytest.mark.parametrize("item", [{}, {"Item": {}}], ids=["missing", "empty"])
    def test_write_block_knows_nothing_when_a_failed_key_shows_no_item(
        self, item: dict[str, Any]
    ) -> None:
        """A key that failed without its number is no replay."""
        assert slots_of(1, NONE, TAKEN | item) == [Slot(key=Reason.UNKNOWN)]

    def test_write_block_reads_mixed_reasons_by_position(self) -> None:
        damaged = TAKEN | {"Item": damaged_record({"number": None})}

        *slots, last = slots_of(
            8,
            *(TAKEN_TICKET, NONE),
            *(TAKEN_TICKET, RECORDED),
            *(CONFLICT | {"Item": TICKET}, CONFLICT),
            *({"Code": "ThrottlingError"}, {"Code": "ValidationError"}),
            *({"Code": "ProvisionedThroughputExceeded"}, {"Code": "SomethingNew"}),
            *({"Code": ""}, {"Code": "ItemCollectionSizeLimitExceeded"}),
            *(NONE, NONE),
            *(NONE, damaged),
        )

        assert slots == [
            Slot(Reason.CONDITION_FAILED, taken_by=TAKER),
            Slot(
                Reason.CONDITION_FAILED,
                Reason.CONDITION_FAILED,
                ASSIGNMENT,
                replace(TAKER, number=2),
            ),
            Slot(Reason.CONFLICT, Reason.CONFLICT),
            Slot(Reason.THROTTLED, Reason.INVALID),
            Slot(Reason.THROTTLED, Reason.UNKNOWN),
            UNKNOWN,
            Slot(),
        ]
        assert last.key is Reason.CONDITION_FAILED
        assert_is_damaged(last.recorded)

    @pytest.mark.parametrize(
        "members",
        cases(
            {
                "missing": {},
                "empty": {"CancellationReasons": []},
                "too-few": {"CancellationReasons": [TAKEN, NONE]},
                "odd": {"CancellationReasons": [TAKEN, NONE, NONE]},
                "one-more": {"CancellationReasons": [TAKEN, *[NONE] * 4]},
                "too-many": {"CancellationReasons": [TAKEN, *[NONE] * 5]},
                "without-codes": {"CancellationReasons": [{}] * 4},
                "with-null-codes": {"CancellationReasons": [{"Code": None}] * 4},
            }
        ),
    )
    def test_write_block_knows_nothing_when_reasons_do_not_match_the_block(
        self, members: dict[str, Any]
    ) -> None:
        """Reasons that cannot be matched by position say nothing."""
        store, _ = store_on(error_reply("TransactionCanceledException", **members))
        block = block_of(create_tickets(2))

        assert store.write_block(block) == Cancelled([UNKNOWN] * 2)
        # boto3 leaves null out today.
        unread = {"CancellationReasons": None}
        assert cancellation_reasons.slots_of(unread, block) == [UNKNOWN] * 2


class TestFailure:
    """Errors without reasons: refused, unknown, or a bug."""

    def test_write_block_is_refused_when_the_request_is_invalid(self) -> None:
        """Too large as a whole, or the same item twice."""
        store, _ = store_on(error_reply("ValidationException"))

        answer = store.write_block(block_of(create_tickets(2)))

        assert answer == BlockInvalid("ValidationException")

    @pytest.mark.parametrize(("call", "name"), cases(CALLS))
    def test_error_names_the_call_and_the_code_when_dynamodb_refuses_it(
        self, call: Call, name: str
    ) -> None:
        store, _ = store_on(error_reply("AccessDeniedException"))

        with pytest.raises(StoreRefusedError, match=f"^{name}: AccessDeniedException$"):
            call(store)

    @pytest.mark.parametrize(("call", "name"), cases(READS))
    def test_answer_is_none_when_it_is_cut_off(self, call: Call, name: str) -> None:
        """Nothing read is not the same as nothing there."""
        store, _ = store_on(Reply({}))

        with pytest.raises(
            StoreUnavailableError, match=f"^{name}: ResponseParserError$"
        ):
            call(store)

    @pytest.mark.parametrize("number", ["-5", "0", "7.5", "1E2", "9" * 38])
    def test_sequence_is_damaged_when_its_highest_item_has_no_ticket_number(
        self, number: str
    ) -> None:
        """Another program put the item there; the next number would be wrong, too."""
        store, _ = store_of(TICKET | {"number": {"N": number}})

        with pytest.raises(DamagedSequenceError, match=rf"PROJ has .* {number}$"):
            store.head("PROJ")

    def test_error_classes_are_read_when_the_store_is_built(self) -> None:
        """Botocore builds them at first use without a lock; threads would race."""
        store, wire = store_on(cancelled(CONFLICT, NONE))
        # Each client has a class of its own; botocore itself needs this much.
        type(wire.client).exceptions = SimpleNamespace(
            from_code=wire.client.exceptions.from_code
        )

        answer = store.write_block(block_of(create_tickets(1)))

        assert answer == Cancelled([Slot(Reason.CONFLICT)])


class TestEveryValidTicketFits:
    """No valid request is too large for an item, or larger than its block assumes."""

    def test_item_holds_the_largest_body(self) -> None:
        assert MAX_BODY_BYTES + REQUEST_OVERHEAD_BYTES < MAX_ITEM_BYTES

    @given(REQUESTS)
    @example(FULL | {"description": DOOR * 60_000})
    def test_items_have_no_more_bytes_than_the_request_tells_nor_that_than_its_body(
        self, fields: dict[str, Any]
    ) -> None:
        """Blocks are cut by this size: both items of a request stay below it."""
        body = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        request = CreateTicket.parse(body)
        [assigned] = block_of([request], MAX_NUMBER).assignments().values()
        items = [
            ticket_item(request, assigned, SALT),
            key_item(request.key, assigned, expires_at=2_000_000_000),
        ]

        sizes = [size_of(TypeSerializer().serialize(item)["M"]) for item in items]

        assert sum(sizes) <= request.size + REQUEST_OVERHEAD_BYTES
        assert request.size <= len(body.encode())
