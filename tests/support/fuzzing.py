"""Strategies of the fuzz tests: bodies, records and faults of every kind.

A message maps names to JSON texts, so that it can have values of no JSON library.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from simulation.aws.faults import Fault
from tests.support.builders import sqs_record
from tests.support.sample_messages import SAMPLES
from ticket_numbering.contract.messages import CreateTicket

NAME_WORDS: Final = "name never logged"
"""Stands in names; a reason may repeat it, a log line may not."""

VALUE_WORDS: Final = "value never repeated"
"""Stands in values; neither a reason nor a log line may repeat it."""

BODY_LIMIT: Final = 256 * 1024
SQS_LIMIT: Final = 1024 * 1024

NAMES: Final = (*CreateTicket.model_fields, NAME_WORDS, "", "__proto__")
ODD_VALUES: Final = (
    # Of every JSON type, and numbers and depths that exhaust a parser.
    *("null", "true", "0", "-1.5", "[]", "{}", '""', '" "', "1e400", "NaN"),
    *("9" * 5_000, "0." + "1" * 5_000, "[" * 990 + "]" * 990, '{"a":' * 20_000),
    *(f'"{VALUE_WORDS}"', f'["{VALUE_WORDS}", 7]', f'{{"{NAME_WORDS}": 7}}'),
    # Characters that SQS does not carry, or that are invisible.
    *('"\\u0000"', '"\\ud800"', '"\\udfff\\ud83d"', '"\\ufffe"', '"\\u001b[31m"'),
    *('"\ufeff"', '"\\u2028"', '"\\u202e"', '"\u200b"', '"\x7f"', '"\\n"', '"\ud800"'),
    f'{{"{NAME_WORDS}\\ud800": "{VALUE_WORDS}"}}',
    # Values of a field, for this one and the others.
    *(json.dumps(value) for name in SAMPLES for value in SAMPLES[name].refused),
    # Names twice, and no JSON at all.
    *(f'{{"{NAME_WORDS}": 1, "{NAME_WORDS}": 2}}', '{"a": 1, "a": 2}'),
    *("", "undefined", "'a'", '"a\nb"', '"\\x"', "01", "+1", "[1,]", '"', "{", "]"),
)
STRANGE: Final = (*"\"\\{}[]:, 0/'\x00\n\x7f\u2028\ufeff\ud800\u00e9", "null", '"a":1,')

ANY_TEXT: Final = st.text(st.characters(categories=None), max_size=40)


def message(project: str, key: int, others: Mapping[str, str]) -> dict[str, str]:
    """Return a message that is valid but for the other fields."""
    return {
        "project_id": json.dumps(project),
        "idempotency_key": f'"k{key}"',
        "title": f'"{VALUE_WORDS} {key}"',
        "labels": f'["{VALUE_WORDS}"]',
        **others,
    }


def rendered(fields: Mapping[str, str]) -> str:
    """Return the fields as a body."""
    members = [f"{json.dumps(name)}:{value}" for name, value in fields.items()]
    return "{" + ",".join(members) + "}"


def damaged(body: str, position: int, piece: str, skipped: int) -> str:
    """Return a body as transport, editors and mistakes may damage it."""
    place = position % (len(body) + 1)
    return body[:place] + piece + body[place + skipped :]


def sized(size: int, filling: str) -> str:
    """Return a body of this size, valid if it is filled with spaces."""
    opening = rendered(message("BIG", size, {}))
    room = size - len(opening)
    width = len(filling.encode())
    return opening + filling * (room // width) + " " * (room % width)


FIELDS: Final = st.dictionaries(
    st.sampled_from(NAMES),
    st.sampled_from(ODD_VALUES) | ANY_TEXT.map(json.dumps),
    max_size=2,
)
PROJECTS: Final = st.sampled_from(["PROJ", "A", "B.c"])
WHOLE: Final = st.builds(message, PROJECTS, st.integers(0, 30), FIELDS).map(rendered)
JSON_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=6,
)
BODIES: Final[st.SearchStrategy[str]] = st.one_of(
    WHOLE,
    st.builds(
        damaged,
        WHOLE,
        st.integers(0, 2**16),
        st.sampled_from(STRANGE) | ANY_TEXT,
        st.sampled_from([0, 1, 7, 10_000]),
    ),
    WHOLE.map(lambda body: body[:-1] + ',"title":"twice"}'),
    JSON_VALUES.map(json.dumps),
    ANY_TEXT,
    st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)
LARGE_BODIES: Final = st.builds(
    sized,
    st.integers(BODY_LIMIT - 2, BODY_LIMIT + 2)
    | st.integers(SQS_LIMIT - 400, SQS_LIMIT)
    | st.integers(SQS_LIMIT // 2 - 400, SQS_LIMIT // 2),
    st.sampled_from([" ", "x", "\u00e9"]),
)

COUNTS: Final = st.sampled_from(["1", "2", "0", "-1", "9" * 5_000, "", NAME_WORDS])
ATTRIBUTES: Final = st.dictionaries(
    st.sampled_from(["text", "n" * 256, "custom.type", "ErrorType"]),
    st.sampled_from(
        [
            {"dataType": "String.uuid", "stringValue": VALUE_WORDS},
            {"dataType": "String", "stringValue": "x" * 5_000},
            {"dataType": "Binary.png", "binaryValue": "AAAA"},
        ]
    ),
)


class Faults(NamedTuple):
    """Faults, call by call; an empty word is none of the store."""

    store: Sequence[str] = ()
    sns: Sequence[Fault | None] = ()
    sqs: Sequence[Fault | None] = ()
    seconds_left: float = 30.0


NO_FAULTS: Final = Faults()
STORE_FAULTS: Final = st.sampled_from(["", "held", "unanswered", "lost"])
CALL_FAULTS: Final = st.sampled_from([None, Fault.THROTTLED, Fault.PARTIAL, Fault.LOST])
FAULTS: Final = st.just(NO_FAULTS) | st.builds(
    Faults,
    st.lists(STORE_FAULTS, max_size=4),
    st.lists(CALL_FAULTS, max_size=3),
    st.lists(CALL_FAULTS, max_size=3),
    st.sampled_from([30.0, 30.0, 12.0, 4.0]),
)

Batch = list[dict[str, Any]]


def batches(bodies: st.SearchStrategy[str]) -> st.SearchStrategy[Batch]:
    """Return a strategy of records with these bodies, on both kinds of queue."""
    groups = st.sampled_from(["a", "b"])
    fifo = _batches(bodies, group_id=groups, sequence_number=st.just("1"))
    return _batches(bodies) | fifo


def _batches(
    bodies: st.SearchStrategy[str], **queue: st.SearchStrategy[str]
) -> st.SearchStrategy[Batch]:
    """Put the records between two valid ones, which nothing may harm."""
    records = st.builds(
        sqs_record,
        bodies,
        messageAttributes=ATTRIBUTES,
        receive_count=COUNTS,
        sent_at=COUNTS,
        **queue,
    )
    first, last = (
        st.builds(sqs_record, st.just(rendered(message("PROJ", key, {}))), **queue)
        for key in (100, 101)
    )
    others = st.lists(records, min_size=4, max_size=20)
    return st.builds(
        lambda first, others, last: [first, *others, last], first, others, last
    )
