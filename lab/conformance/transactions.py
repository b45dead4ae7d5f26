"""TransactWriteItems: DynamoDB API reference, and developer guide, "Transactions"."""

from collections.abc import Callable, Iterator, Sequence
from secrets import token_hex
from typing import Any, Final

from conformance.backends import DONE, Backend, outcome_of
from conformance.case import CANCELLED, FAILED, INVALID, Case

Action = dict[str, Any]

MAX_ITEM_BYTES: Final = 400 * 1024
MISMATCH: Final = f"{CANCELLED} None ValidationError"
MESSAGES: Final = "tier3/error-messages/transactWriteItems"
ACTIONS: Final = "tier2/transactions/transactWrite"
LIMITS: Final = "tier3/limits/transactionLimits"
SIZES: Final = "tier3/limits/itemSizeBySurface and numberByteSize"


def put_ticket(number: int, **more: Any) -> Action:
    """Put a ticket where there is none."""
    content = {
        "TableName": "tickets",
        "Item": {"project_id": {"S": "PROJ"}, "number": {"N": str(number)}},
        "ConditionExpression": "attribute_not_exists(project_id)",
    }
    return {"Put": content | more}


def put_key(name: str, text: str = "-", **more: Any) -> Action:
    """Put the record of a key where there is none; show the old one if there is."""
    content = {
        "TableName": "keys",
        "Item": {"id": {"S": name}, "text": {"S": text}},
        "ConditionExpression": "attribute_not_exists(id)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return {"Put": content | more}


def check_key(name: str, text: str) -> Action:
    """Check that the record of a key has a text; show it if it has not."""
    content = {
        "TableName": "keys",
        "Key": {"id": {"S": name}},
        "ConditionExpression": "#text = :text",
        "ExpressionAttributeNames": {"#text": "text"},
        "ExpressionAttributeValues": {":text": {"S": text}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return {"ConditionCheck": content}


def write(backend: Backend, *actions: Action, **more: Any) -> None:
    """Write all or nothing."""
    named = []
    for action in actions:
        ((kind, request),) = action.items()
        table = request["TableName"]
        named.append({kind: {**request, "TableName": getattr(backend, table, table)}})
    backend.dynamodb.transact_write_items(TransactItems=named, **more)


def written(backend: Backend) -> list[str]:
    """Return all that is in the tables: numbers, then the keys a, b and c."""
    tickets = backend.dynamodb.query(
        TableName=backend.tickets,
        KeyConditionExpression="project_id = :project",
        ExpressionAttributeValues={":project": {"S": "PROJ"}},
        ConsistentRead=True,
    )["Items"]
    wanted = {"Keys": [{"id": {"S": name}} for name in "abc"], "ConsistentRead": True}
    answer = backend.dynamodb.batch_get_item(RequestItems={backend.keys: wanted})
    keys = answer["Responses"].get(backend.keys, [])
    return [
        *(item["number"]["N"] for item in tickets),
        *sorted(item["id"]["S"] for item in keys),
    ]


def writing(
    *actions: Action, after: Sequence[Action] = ()
) -> Callable[[Backend], tuple[str, list[str]]]:
    """Return the outcome of a transaction after another, and the items."""

    def outcome(backend: Backend) -> tuple[str, list[str]]:
        if after:
            write(backend, *after)
        return outcome_of(lambda: write(backend, *actions)), written(backend)

    return outcome


def reasons(
    *actions: Action, after: Sequence[Action]
) -> Callable[[Backend], list[dict[str, Any]]]:
    """Return the reasons of a cancelled transaction, without their messages."""

    def outcome(backend: Backend) -> list[dict[str, Any]]:
        write(backend, *after)
        try:
            write(backend, *actions)
        except backend.dynamodb.exceptions.TransactionCanceledException as error:
            return [
                {name: value for name, value in reason.items() if name != "Message"}
                for reason in error.response["CancellationReasons"]
            ]
        return []

    return outcome


def after_a_cancelled_one(backend: Backend) -> Any:
    """Write, after a transaction with the same items was cancelled."""
    write(backend, put_ticket(1))
    actions = [put_ticket(2), put_key("a")]
    cancelled = outcome_of(lambda: write(backend, *actions, put_ticket(1)))
    return cancelled, *writing(*actions)(backend)


def repeated(second: str, *actions: Action) -> Callable[[Backend], Any]:
    """Write ticket 1 with a token, then actions with another one or the same."""

    def outcome(backend: Backend) -> Any:
        # An account has one space of tokens, and keeps them for ten minutes.
        run = token_hex(8)
        tokens = [f"{run}-{name}" for name in ("first", second)]
        write(backend, put_ticket(1), ClientRequestToken=tokens[0])
        seen = outcome_of(
            lambda: write(backend, *actions, ClientRequestToken=tokens[1])
        )
        return seen, written(backend)

    return outcome


def _all_or_nothing() -> Iterator[Case]:
    yield Case(
        "transaction across tables",
        writing(put_ticket(2), put_key("b"), after=[put_ticket(1), put_key("a")]),
        (DONE, ["1", "2", "a", "b"]),
        ACTIONS,
    )
    for position in range(4):
        actions = [put_ticket(2), put_key("a"), put_key("b")]
        codes = ["None"] * 3
        actions.insert(position, put_ticket(1))
        codes.insert(position, FAILED)
        yield Case(
            f"transaction whose condition {position} fails",
            writing(*actions, after=[put_ticket(1)]),
            (" ".join([CANCELLED, *codes]), ["1"]),
            MESSAGES,
        )
    yield Case(
        "transaction after a cancelled one",
        after_a_cancelled_one,
        (f"{CANCELLED} None None {FAILED}", DONE, ["1", "2", "a"]),
    )


def _reasons() -> Iterator[Case]:
    old = put_key("a", "old")
    shown = {"Code": FAILED, "Item": old["Put"]["Item"]}
    taken, none = {"Code": FAILED}, {"Code": "None"}
    yield Case(
        "reasons of tickets and keys that exist, and of others",
        reasons(
            *(put_ticket(1), put_key("b"), put_ticket(3)),
            *(put_key("a", "new"), put_ticket(2), put_key("c")),
            after=[put_ticket(1), put_ticket(2), old],
        ),
        [taken, none, none, shown, taken, none],
        ACTIONS,
    )
    yield Case(
        "reasons of two failed conditions",
        reasons(*(put_ticket(1), put_ticket(2)), after=[put_ticket(1), put_ticket(2)]),
        [taken, taken],
        MESSAGES,
    )
    ticket = put_ticket(1)["Put"]["Item"]
    for asked, first in {"ALL_OLD": taken | {"Item": ticket}, "NONE": taken}.items():
        action = put_ticket(1, ReturnValuesOnConditionCheckFailure=asked)
        yield Case(
            f"reasons of two actions, of which the first asks for `{asked}`",
            reasons(action, put_key("a"), after=[put_ticket(1), old]),
            [first, shown],
        )


def _checks() -> Iterator[Case]:
    old = put_key("a", "old")
    yield Case(
        "put beside a check that holds",
        writing(put_ticket(1), check_key("a", "old"), after=[old]),
        (DONE, ["1", "a"]),
        ACTIONS,
    )
    shown = {"Code": FAILED, "Item": old["Put"]["Item"]}
    for name, reason in {"a": shown, "b": {"Code": FAILED}}.items():
        yield Case(
            f"reasons of a put and a check of {name} that fails",
            reasons(put_ticket(1), check_key(name, "new"), after=[old]),
            [{"Code": "None"}, reason],
        )


def _tokens() -> Iterator[Case]:
    yield Case(
        "same ClientRequestToken, same content",
        repeated("first", put_ticket(1)),
        (DONE, ["1"]),
        ACTIONS,
        {"moto": (f"{CANCELLED} {FAILED}", ["1"])},
    )
    yield Case(
        "same ClientRequestToken, other content",
        repeated("first", put_ticket(2)),
        ("IdempotentParameterMismatchException", ["1"]),
        ACTIONS,
        {"moto": (DONE, ["1", "2"])},
    )
    yield Case(
        "other ClientRequestToken, same content",
        repeated("second", put_ticket(1)),
        (f"{CANCELLED} {FAILED}", ["1"]),
    )


def _limits() -> Iterator[Case]:
    tickets = [put_ticket(number) for number in range(1, 102)]
    numbers = [str(number) for number in range(1, 101)]
    for count, outcome in {100: (DONE, numbers), 101: (INVALID, [])}.items():
        yield Case(
            f"transaction with {count} actions",
            writing(*tickets[:count]),
            outcome,
            LIMITS,
        )
    for count, outcome in {10: (DONE, ["a"]), 12: (INVALID, [])}.items():
        large = [put_key(f"key-{number}", "x" * 350_000) for number in range(count)]
        yield Case(
            f"transaction of {count * 0.35:.1f} MB",
            writing(put_key("a"), *large),
            outcome,
            LIMITS,
            {"moto": (DONE, ["a"])} if count > 10 else {},
        )
    yield Case(
        "transaction with one item twice",
        writing(put_ticket(1), put_key("a"), put_key("a", "other")),
        (INVALID, []),
        MESSAGES,
    )


def item_of(size: int) -> dict[str, Any]:
    """Return an item of this size, two bytes of which are the number's."""
    other = len("id" + "b" + "count" + "text") + 2
    text = "x" * (size - other)
    # Zeros at the end of a number take no room.
    return {"id": {"S": "b"}, "count": {"N": "100"}, "text": {"S": text}}


def _items() -> Iterator[Case]:
    def case(what: str, item: Any, *facts: Any) -> Case:
        put = put_key("b", Item=item)
        return Case(f"transaction with {what}", writing(put_ticket(1), put), *facts)

    yield case(
        "an item of 400 KB to the byte",
        item_of(MAX_ITEM_BYTES),
        (DONE, ["1", "b"]),
        SIZES,
        {"moto": (INVALID, [])},
    )
    yield case(
        "an item of a byte more", item_of(MAX_ITEM_BYTES + 1), (INVALID, []), SIZES
    )
    yield case(
        "a key of another type",
        {"id": {"N": "7"}},
        (MISMATCH, []),
        MESSAGES,
        {"moto": (INVALID, [])},
    )
    yield case(
        "an item without its key",
        {"text": {"S": "no key"}},
        (MISMATCH, []),
        "",
        {"moto": (f"{CANCELLED} None KeyError", []), "emulator": (DONE, ["1"])},
    )


TRANSACTIONS: Final = (
    *_all_or_nothing(),
    *_reasons(),
    *_checks(),
    *_tokens(),
    *_limits(),
    *_items(),
)
