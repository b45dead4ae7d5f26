"""No body that SQS delivers costs much more than a valid one: its neighbours wait."""

import gc
import json
import sys
from collections.abc import Iterator
from time import process_time
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import queue_record, ticket_fields
from tests.support.fuzzing import BODY_LIMIT, JSON_VALUES
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.contract.json_body import MAX_NAMES
from ticket_numbering.worker.results import Poison
from ticket_numbering.worker.sqs_record import SQSRecord

MOST: Final = 20
"""Times the cost of a plain valid request."""
ATTEMPTS: Final = 12
"""Other processes can only add to a cost."""

OPENING: Final = json.dumps(ticket_fields("WEB", "k-1"))[:-1]
PLAIN: Final = json.dumps(
    ticket_fields(
        "W" * 64,
        "k" * 128,
        title="t" * 200,
        description="d" * 65_536,
        reporter="r" * 254,
        labels=["l" * 64] * 20,
        attributes={f"{i:n>128}": "v" * 1024 for i in range(50)},
    )
)


def filled(opening: str, member: str, closing: str = "", separator: str = ",") -> str:
    """Repeat a member until the body is full; `#` in it counts."""
    room = BODY_LIMIT - len(f"{OPENING},{opening}{closing}}}".encode())
    members: list[str] = []
    while room > 0:
        members.append(member.replace("#", str(len(members))))
        room -= len((members[-1] + separator).encode())
    return f"{OPENING},{opening}{separator.join(members[:-1])}{closing}}}"


def deep(opening: str, closing: str) -> str:
    """Return a member that nests as deep as the reader goes, nearly."""
    return opening * 500 + "0" + closing * 500


KINDS: Final[dict[str, str]] = {
    "attributes": filled('"attributes":{', '"#":""', "}"),
    "attributes-of-bad-names": filled('"attributes":{', '"\\u0001#":""', "}"),
    "attributes-of-bad-values": filled('"attributes":{', '"#":1', "}"),
    "unknown-fields": filled("", '"#":1'),
    "unknown-objects": filled("", '"#":{}'),
    "labels": filled('"labels":[', '"a"', "]"),
    "labels-that-are-numbers": filled('"labels":[', "1", "]"),
    "labels-that-are-lists": filled('"labels":[', "[]", "]"),
    "labels-that-are-objects": filled('"labels":[', "{}", "]"),
    "labels-with-names": filled('"labels":[', '{"a":1}', "]"),
    "nested-lists": filled('"x":[', deep("[", "]"), "]"),
    "nested-objects": filled('"x":[', deep('{"a":', "}"), "]"),
    "nested-too-deep": OPENING + ',"x":' + "[" * 200_000 + "]" * 50_000 + "}",
    "digits": f'{OPENING},"max_number":{"9" * 250_000}}}',
    "numbers-of-many-digits": filled('"x":[', "9" * 4_300, "]"),
    "numbers-of-too-many-digits": filled('"x":[', "1," * 100 + "9" * 4_301, "]"),
    "numbers": filled('"x":[', "0", "]"),
    "exponents": filled('"x":[', "1e1", "]"),
    "fractions": filled('"x":[', f"1.{'7' * 760}e-300", "]"),
    "escapes": filled('"title":"', "\\u00e9", '"', separator=""),
    "surrogates": filled('"reporter":"', "\\ud83d", '"', separator=""),
    "escaped-names": filled("", '"' + "\\u0001" * 20 + '#":0'),
    "line-breaks": filled('"reporter":"', "\\n", '"', separator=""),
    "repeated-name": filled("", '"a":1'),
    "repeated-name-at-the-end": filled("", '"#":1')[:-9] + ',"0":1}',
    "repeated-objects": filled('"x":[', '{"a":1}', "]"),
    "one-long-name": filled('"', "n", '":1', separator=""),
}


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """Collect garbage as often as in a function, among all that is loaded."""
    usual = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*usual)
    gc.freeze()


def cost(record: SQSRecord) -> float:
    """Return the processor time in seconds of a batch with this record alone."""
    system = WorkerOnFakes()
    tracer = sys.gettrace()
    sys.settrace(None)  # A trace for coverage takes most of the time.
    began = process_time()
    system.report(record)
    ended = process_time()
    sys.settrace(tracer)
    return ended - began


def ratio(body: str, enough: float) -> float:
    """Return the cost of a body in that of a plain one, at best."""
    plain, full = (queue_record(body=text) for text in (PLAIN, body))
    costs = plains = float("inf")
    for _ in range(ATTEMPTS):
        costs, plains = min(costs, cost(full)), min(plains, cost(plain))
        if costs <= enough * plains:
            break
    return costs / plains


@pytest.mark.parametrize("kind", KINDS)
def test_worker_spends_little_more_on_a_full_body_than_on_a_plain_one(
    kind: str,
) -> None:
    assert len(KINDS[kind].encode()) <= BODY_LIMIT
    assert ratio(KINDS[kind], MOST) <= MOST


@settings(max_examples=10)
@given(
    member=JSON_VALUES.map(json.dumps),
    name=st.sampled_from(["x", "labels", "attributes", "title", "project_id"]),
)
def test_worker_spends_little_more_on_a_value_repeated_to_the_limit(
    member: str, name: str
) -> None:
    assert ratio(filled(f'"{name}":[', member, "]"), MOST) <= MOST


def test_refusal_is_announced_when_a_body_has_too_many_names() -> None:
    system = WorkerOnFakes()
    names = ticket_fields("WEB", "k-1") | {f"n{i}": i for i in range(MAX_NAMES)}

    [result] = system.report(queue_record(names)).results

    assert isinstance(result, Poison)
    assert str(result.error) == "body: must have at most 100 names"
    [announced] = system.publisher.announced
    data = json.loads(announced.message)["data"]
    assert (data["project_id"], data["idempotency_key"]) == ("WEB", "k-1")
    assert (data["field"], data["reason"]) == ("body", "too_many")
