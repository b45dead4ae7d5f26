"""What the fuzz tests deliver: bodies, records and batches of every kind.

A message is a list of (name, value) pairs of JSON text, so that it can repeat names
and hold what no JSON library would write.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from hypothesis import strategies as st

from tests.support.builders import sqs_record

NAME_WORDS: Final = "name never logged"
"""Stands in names; a reason may repeat it, a log line may not."""

VALUE_WORDS: Final = "value never told"
"""Stands in values; neither a reason nor a log line may repeat it."""

BOUNDS: Final = {
    # Characters; see the JSON Schema of CreateTicket.
    "project_id": 64,
    "idempotency_key": 128,
    "title": 200,
    "description": 65_536,
    "reporter": 254,
}
DEPTHS: Final = (60, 900, 990, 1_000, 20_000)
"""Around Python's recursion limit of 1,000 frames, and far beyond."""

BODY_LIMIT: Final = 256 * 1024
SQS_LIMIT: Final = 1024 * 1024

Pair = tuple[str, str]


def listed(*values: Any) -> st.SearchStrategy[Any]:
    """Return a strategy of these values; what stands first is the simplest."""
    return st.sampled_from(values)


def nested(opening: str, inside: str, closing: str) -> list[str]:
    """Return the value at several depths."""
    return [opening * deep + inside + closing * deep for deep in DEPTHS]


ODD_VALUES: Final = (
    # Of every JSON type, and numbers that exhaust a parser.
    *("null", "true", "0", "-1", "1.5", "[]", "{}", '""', '" "'),
    *("1e400", "-1e400", "NaN", "Infinity", "-Infinity", "1E-999", "-0"),
    *("9" * 400, "9" * 5_000, "-" + "9" * 5_000, "0." + "1" * 5_000),
    *(f'"{VALUE_WORDS}"', f'["{VALUE_WORDS}"]', f'{{"{NAME_WORDS}": "{VALUE_WORDS}"}}'),
    *(f'["{VALUE_WORDS}", 7]', f'{{"{NAME_WORDS}": 7}}', '{"": ""}', '[{"a": [null]}]'),
    # Characters that SQS does not carry, or that nobody sees.
    *('"\\u0000"', '"\\ud800"', '"\\udfff\\ud83d"', '"\\ufffe"', '"\\u001b[31m"'),
    *('"\ufeff"', '"\\u2028"', '"\\u202e"', '"\u200b"', '"\x7f"', '"\\n"', '"\ud800"'),
    *(f'{{"{NAME_WORDS}\\ud800": "{VALUE_WORDS}"}}', '{"\\u0000": "\\u0000"}'),
    # Names twice, and no JSON at all.
    *('{"a": 1, "a": 2}', f'{{"{NAME_WORDS}": 1, "{NAME_WORDS}": 2}}'),
    *("", "undefined", "'a'", '"a\nb"', '"\\x"', "01", "+1", "[1,]", '"', "{", "]"),
    *nested("[", "", "]"),
    *nested('{"a":', "1", "}"),
)
PROJECTS: Final = (
    *("PROJ", "A", "a.b-c_d", "-", "..", "p" * 64, "p" * 65, "", " ", "PROJ\n"),
    *("PROJ#1", "PRO J", "\uff30ROJ", "PROJ\u200b", "\u202ePROJ", "\u0420ROJ", "\x00"),
    *(f"{VALUE_WORDS}#", "PROJ\ud800", "AWS.PROJ", "../PROJ", "\U0001f6aa"),
)
KEYS: Final = (
    *("k1", "k2", "k3", "~!@#$%^&*", "k" * 128, "k" * 129, "", "a b", "\u00e9", "k\n"),
    *("PROJ#k1", "\x7f", "\uff41", VALUE_WORDS, "\ud800"),
)
CHARACTERS: Final = (*"x\u00e9\u20ac\U0001f6aa\u0301", "\u0000", "\ud800")
PRIORITIES: Final = ("low", "medium", "high", "urgent", "HIGH", "", VALUE_WORDS)
NAMES: Final = (
    *BOUNDS,
    *("priority", "labels", "attributes"),
    *(NAME_WORDS, "", "__proto__"),
)

ANY_TEXT: Final = st.text(st.characters(categories=None), max_size=40)
POSITIONS: Final = st.integers(0, 2**16)
PIECES: Final = st.one_of(
    listed(*'"\\{}[]:,\x00\n\ufeff\ud800', "null", '"a":1,', "\\u", '"title":', "\x1b"),
    listed(*ODD_VALUES),
    ANY_TEXT,
)
ENCODINGS: Final = listed(
    *(("utf-8", "replace"), ("utf-8", "surrogateescape")),
    *(("latin-1", "strict"), ("utf-16", "replace")),
)


def bounded(name: str, character: str, past: int) -> Pair:
    """Return a field of a length so many characters past its bound."""
    return name, json.dumps(character * (BOUNDS[name] + past))


def many(name: str, count: int, length: int) -> Pair:
    """Return labels or attributes of a number and a length."""
    words = [f"{number:x<{length}}" for number in range(count)]
    return name, json.dumps(words if name == "labels" else dict.fromkeys(words, "v"))


PAIRS: Final[st.SearchStrategy[Pair]] = st.one_of(
    st.tuples(listed(*NAMES), listed(*ODD_VALUES)),
    st.tuples(listed(*NAMES), ANY_TEXT.map(json.dumps)),
    st.tuples(listed("project_id"), listed(*PROJECTS).map(json.dumps)),
    st.tuples(listed("idempotency_key"), listed(*KEYS).map(json.dumps)),
    st.tuples(listed("priority"), listed(*PRIORITIES).map(json.dumps)),
    st.builds(bounded, listed(*BOUNDS), listed(*CHARACTERS), listed(0, 1, -1)),
    st.builds(many, listed("labels"), listed(20, 21), listed(64, 65)),
    st.builds(many, listed("attributes"), listed(50, 51), listed(128, 129)),
)


@dataclass(frozen=True)
class Damage:
    """What is done to a message, and where."""

    pair: Pair
    position: int
    piece: str
    encoding: tuple[str, str]
    """What the bytes are read as, and how strictly."""


def variants(pairs: list[Pair], others: list[Pair], damage: Damage) -> list[list[Pair]]:
    """Return the fields set, repeated, dropped, swapped, and mixed with another's."""
    here = damage.position % len(pairs)
    there = damage.position // len(pairs) % len(pairs)
    (name, value), (other_name, other_value) = pairs[here], pairs[there]
    swapped = {here: (name, other_value), there: (other_name, value)}
    return [
        pairs,
        [*[each for each in pairs if each[0] != damage.pair[0]], damage.pair],
        [*pairs, pairs[here]],
        [*pairs, damage.pair],
        pairs[:here] + pairs[here + 1 :],
        [swapped.get(place, each) for place, each in enumerate(pairs)],
        pairs[:here] + others[here:],
    ]


def rendered(pairs: Iterable[Pair]) -> str:
    """Return the fields as a body."""
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in pairs) + "}"


def message(project: str, key: int, pairs: Sequence[Pair]) -> list[Pair]:
    """Return a valid message, but for the pairs."""
    fields = {
        "project_id": json.dumps(project),
        "idempotency_key": f'"k{key}"',
        "title": f'"{VALUE_WORDS} {key}"',
        "labels": f'["{VALUE_WORDS}"]',
    }
    return list((fields | dict(pairs)).items())


JSON_VALUES: Final = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ANY_TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(ANY_TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
MESSAGES: Final = st.builds(
    message,
    listed("PROJ", "A", "B.c"),
    st.integers(0, 30),
    st.one_of(st.just(()), st.lists(PAIRS, max_size=2)),
)
OTHER_BODIES: Final[st.SearchStrategy[str]] = st.one_of(
    listed(*ODD_VALUES),
    JSON_VALUES.map(json.dumps),
    ANY_TEXT,
    st.builds(lambda raw, code: raw.decode(*code), st.binary(max_size=60), ENCODINGS),
)


def mutants(body: str, other: str, damage: Damage) -> list[str]:
    """Return what transport, editors and mistakes make of a body."""
    place, piece = damage.position % (len(body) + 1), damage.piece
    raw = bytearray(body.encode(errors="surrogatepass"))
    if raw:
        raw[place % len(raw)] ^= 1 << damage.position % 8
    return [
        body[:place],
        body[:place] + other[place:],
        body[:place] + piece + body[place:],
        body[:place] + piece + body[place + len(piece) :],
        raw.decode(*damage.encoding),
    ]


def family(
    messages: Sequence[list[Pair]], others: Sequence[str], damage: Damage
) -> list[str]:
    """Return bodies with mutants of each, which are cheap to make."""
    following = [*messages[1:], *messages[:1]]
    bodies = [
        rendered(variant)
        for pairs, other in zip(messages, following, strict=True)
        for variant in variants(pairs, other, damage)
    ]
    originals = [*map(rendered, messages), *others]
    damaged = [mutants(body, originals[0], damage) for body in originals]
    return [*bodies, *others, *chain.from_iterable(damaged)]


FAMILIES: Final = st.builds(
    family,
    st.lists(MESSAGES, min_size=1, max_size=2),
    st.lists(OTHER_BODIES, max_size=2),
    st.builds(Damage, PAIRS, POSITIONS, PIECES, ENCODINGS),
)


def filled(sizes: Sequence[int], filling: str) -> list[str]:
    """Return bodies of these numbers of bytes; spaces leave them valid."""
    bodies = []
    width = len(filling.encode())
    for number, size in enumerate(sizes):
        opening = rendered(message("BIG", number, ()))
        room = size - len(opening)
        bodies.append(opening + filling * (room // width) + " " * (room % width))
    return bodies


def crowded(share: int, short: int, filling: str) -> list[str]:
    """Return one body more than SQS can take in a call, or just not."""
    return filled([SQS_LIMIT // share - short] * (share + 1), filling)


FILLINGS: Final = listed(" ", "x", "\u00e9")
LARGE_FAMILIES: Final = st.one_of(
    st.builds(
        filled,
        st.lists(st.integers(BODY_LIMIT - 2, BODY_LIMIT + 2), min_size=1, max_size=6),
        FILLINGS,
    ),
    st.builds(crowded, listed(1, 2, 10), st.integers(-1, 400), FILLINGS),
)
"""Around the limits of a body, of a message and of a call."""


def delivered(data_type: Any, **value: Any) -> dict[str, Any]:
    """Return a message attribute as Lambda delivers it."""
    return {
        "dataType": data_type,
        "stringListValues": [],
        "binaryListValues": [],
    } | value


def encoded(content: bytes) -> str:
    """Return bytes as Lambda delivers them."""
    return base64.b64encode(content).decode()


THEIRS: Final = (
    ("text", delivered("String", stringValue=VALUE_WORDS)),
    ("number", delivered("Number", stringValue="-42.50")),
    ("custom.type", delivered("String.uuid", stringValue="\U0001f6aa\t\r\n")),
    ("custom-number", delivered("Number.float", stringValue="1e10")),
    ("blob", delivered("Binary", binaryValue=encoded(bytes(range(256))))),
    ("png", delivered("Binary.png", binaryValue=encoded(b"\x89PNG"))),
    ("both", delivered("String", stringValue="x", binaryValue=None)),
    ("n" * 256, delivered("String", stringValue="\u00e9" * 300)),
    ("long", delivered("String", stringValue="x" * 5_000)),
    *(
        (name, delivered("String", stringValue=VALUE_WORDS))
        for name in ("ErrorType", "ErrorMessage", "SourceMessageId", "SentTimestamp")
    ),
)
"""What a producer can set."""

JUNK: Final[Sequence[tuple[str, Any]]] = (
    ("empty", delivered("String", stringValue="")),
    ("empty-blob", delivered("Binary", binaryValue="")),
    ("bad-base64", delivered("Binary", binaryValue="A")),
    ("no-value", delivered("String")),
    ("no-type", {"stringValue": VALUE_WORDS}),
    ("null-type", delivered(None, stringValue=VALUE_WORDS)),
    ("odd-type", delivered("Blob", stringValue=VALUE_WORDS)),
    ("control", delivered("String", stringValue="\x00")),
    ("surrogate", delivered("String", stringValue="\ud800")),
    ("integer", delivered("Number", stringValue=5)),
    ("no-number", delivered("Number", stringValue="abc")),
    ("AWS.x", delivered("String", stringValue="x")),
    ("dots..", delivered("String", stringValue="x")),
    *(("", {}), ("null", None), ("words", VALUE_WORDS), ("list", []), ("\u00e9", {})),
)
"""What only an event made by hand can hold."""

COUNTS: Final[Sequence[Any]] = (
    *("1", "2", "7", "0", "-1", "", "abc", " 1", "1.5", "1e3", "\uff19", "\x00"),
    *("9" * 19, "9" * 20, "9" * 5_000, None, 5, True, [], {}, NAME_WORDS),
)
GROUPS: Final = ("PROJ", "g" * 128, "!~", "g" * 129, "g h", "\u00e9", "", VALUE_WORDS)
MEMBERS: Final = (
    *("body", "attributes", "messageAttributes", "receiptHandle", "md5OfBody"),
    *("eventSource", "eventSourceARN", "awsRegion"),
)


@dataclass(frozen=True)
class Envelope:
    """What a record holds around its body."""

    attributes: Mapping[str, Any]
    theirs: Sequence[tuple[str, Any]] = ()
    prefix: str | None = None
    """Makes the message id an odd one."""
    missing: Sequence[str] = ()
    null: Sequence[str] = ()

    def around(self, body: str, number: int, *, fifo: bool) -> dict[str, Any]:
        """Return the record of the body; its number keeps ids apart."""
        odd_id = {} if self.prefix is None else {"messageId": f"{self.prefix}{number}"}
        nulls = dict.fromkeys(self.null)
        record = sqs_record(body, messageAttributes=dict(self.theirs), **odd_id)
        group = {"MessageGroupId": f"group-{number % 2}", "SequenceNumber": "1"}
        record["attributes"] |= (group if fifo else {}) | dict(self.attributes)
        kept = {each: record[each] for each in record if each not in self.missing}
        return kept | nulls


PLAIN: Final = Envelope({})
SQS_ENVELOPES: Final = st.one_of(
    st.just(PLAIN),
    st.builds(
        Envelope,
        st.fixed_dictionaries(
            {},
            optional={
                "ApproximateReceiveCount": listed("1", "2", "1000"),
                "AWSTraceHeader": listed(VALUE_WORDS),
                "MessageGroupId": listed("PROJ", "g" * 128, "!~"),
            },
        ),
        st.lists(listed(*THEIRS), max_size=10, unique_by=lambda each: each[0]),
    ),
)
"""As SQS fills them."""

ODD_ENVELOPES: Final = st.one_of(
    st.builds(
        Envelope,
        st.fixed_dictionaries(
            {},
            optional={
                "ApproximateReceiveCount": listed(*COUNTS),
                "SentTimestamp": listed(*COUNTS),
                "MessageGroupId": listed(*GROUPS),
                NAME_WORDS: listed(VALUE_WORDS, None, 5),
            },
        ),
    ),
    st.builds(
        Envelope,
        st.just({}),
        st.lists(listed(*THEIRS, *JUNK), max_size=12),
        listed(*[None] * 9, "", " ", "\x00", "\ud800", "x" * 300, "\u00e9", "a/../"),
        st.lists(listed(*MEMBERS), max_size=2),
        st.lists(listed(*MEMBERS), max_size=1),
    ),
)
"""As somebody fills them by hand."""


@dataclass(frozen=True)
class Weather:
    """What goes wrong beside the messages: call by call, an empty word is nothing."""

    store: Sequence[str] = ()
    sns: Sequence[str] = ()
    sqs: Sequence[str] = ()
    seconds_left: float = 30.0
    refuses_whole_calls: bool = False
    """Whether a bad entry fails its call; AWS tells bad calls so, and some entries."""

    @property
    def is_rough(self) -> bool:
        """Whether a good message may have to come again."""
        return any([*self.store, *self.sns, *self.sqs]) or self.seconds_left < 30.0


CLEAR: Final = Weather()
STORE_FAULTS: Final = ("", "conflict", "throttled", "down", "lost")
CALL_FAULTS: Final = ("", "throttled", "failed", "lost", "denied")
WEATHERS: Final = st.one_of(
    *[st.builds(Weather, refuses_whole_calls=st.booleans())] * 5,
    st.builds(
        Weather,
        st.lists(listed(*STORE_FAULTS), max_size=4),
        st.lists(listed(*CALL_FAULTS), max_size=3),
        st.lists(listed(*CALL_FAULTS), max_size=3),
        listed(30.0, 30.0, 12.0, 4.0, 2.0),
        st.booleans(),
    ),
)


@dataclass(frozen=True)
class Batch:
    """Records of one invocation, and which of them nobody has tampered with."""

    records: Sequence[dict[str, Any]]
    neighbours: frozenset[str]
    weather: Weather = CLEAR
    fifo: bool = False


def batch_of(
    bodies: Sequence[str],
    envelopes: Sequence[Envelope] = (PLAIN,),
    weather: Weather = CLEAR,
    *,
    fifo: bool = False,
    repeated: bool = False,
) -> Batch:
    """Put a valid neighbour before, amid and behind the bodies.

    Args:
        bodies: The bodies of the other records.
        envelopes: Taken in turn.
        weather: What goes wrong beside the messages.
        fifo: Whether the queue keeps order.
        repeated: Whether SQS delivers the first of them twice, which it may.
    """
    records = [
        envelopes[number % len(envelopes)].around(body, number, fifo=fifo)
        for number, body in enumerate(bodies)
    ]
    if repeated and not fifo:
        records.append(records[0])
    own = Envelope({"MessageGroupId": "neighbours"})
    good = [own.around(neighbour(number), number, fifo=fifo) for number in range(3)]
    middle = len(records) // 2
    amid = [good[0], *records[:middle], good[1], *records[middle:], good[2]]
    return Batch(amid, frozenset(each["messageId"] for each in good), weather, fifo)


def neighbour(number: int) -> str:
    """Return a valid body, of a key that no other has."""
    return rendered(message("PROJ", 10_000 + number, ()))


BATCHES: Final = st.builds(
    batch_of,
    FAMILIES,
    st.lists(
        st.one_of(SQS_ENVELOPES, SQS_ENVELOPES, ODD_ENVELOPES), min_size=1, max_size=3
    ),
    WEATHERS,
    fifo=st.integers(0, 3).map(lambda number: number == 3),
    repeated=st.booleans(),
)
LARGE_BATCHES: Final = st.builds(
    batch_of,
    LARGE_FAMILIES,
    st.lists(SQS_ENVELOPES, min_size=1, max_size=3),
)
