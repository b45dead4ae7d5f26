"""Sample values of each field of a request; a new field needs one entry here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from unicodedata import normalize

import pytest

from tests.support.paths import ROOT
from ticket_numbering.contract.field_types import (
    IDEMPOTENCY_KEY_RULE,
    PROJECT_ID_RULE,
)
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticket_numbering.contract.values import PRIORITIES

VERSION_1: Final = json.loads(
    (ROOT / "docs" / "schemas" / "version-1.json").read_bytes()
)
"""The baseline of the contract: fields, samples and names."""

VERSION_1_REQUESTS: Final = [
    pytest.param(sample, request, id=f"{name}-{position}")
    for name, sample in VERSION_1["samples"].items()
    for position, request in enumerate(sample["requests"])
]
"""Each request of the baseline, and the sample that it belongs to."""


def assigned_in(sample: Mapping[str, Any]) -> Assignment:
    """Return the assignment of a sample of the baseline."""
    names = "number", "fingerprint", "assigned_at", "chain"
    return Assignment(*(sample["record"][name] for name in names))


FULL: Final[dict[str, Any]] = {
    name: field.examples[0]
    for name, field in CreateTicket.model_fields.items()
    if field.examples
}
"""The full message: the first example of every field."""

DEFAULTS: Final = {
    name: field.get_default()
    for name, field in CreateTicket.model_fields.items()
    if not field.is_required()
}

SECRET: Final = "s3cret"
"""Stands in refused values, which no reason may repeat."""

DOOR: Final = "\U0001f6aa"


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Values of one field."""

    accepted: Sequence[Any]
    """Values at a bound, and odd ones."""
    refused: Sequence[Any]
    """Values whose reason names the field."""
    refused_within: Sequence[Any] = ()
    """Refused members of a list or an object."""
    too_long: Sequence[tuple[Any, str]] = ()
    """Values beyond a limit, and the words of the reason."""
    changes: Sequence[Any] = ()
    """Values that make another request of the full one."""


SAMPLES: Final[Mapping[str, Samples]] = {
    "project_id": Samples(
        accepted=["p", "p" * 64, "aZ09._-", "..", "007"],
        refused=[
            *("", " ", "s3cret#1", "s3cret/1", "s3cret 1", "s3cret\n", "\ns3cret"),
            *("s3cret\u0663", "s3cret\uff21", "s3cret\u0430", "s3cret\u00e9"),
            *("s3cret\u200b", "s3cret\x00", "s3cret\ud800", 1),
        ],
        too_long=[("p" * 65, PROJECT_ID_RULE)],
        changes=["OTHER"],
    ),
    "idempotency_key": Samples(
        accepted=["!", "~" * 128, "".join(map(chr, range(33, 127)))],
        refused=[
            *("", " ", "s3cret 1", "s3cret\n", "s3cret\t", "s3cret\x7f", "s3cret\x00"),
            *("s3cret\u00e9", "s3cret\ud800"),
        ],
        too_long=[("k" * 129, IDEMPOTENCY_KEY_RULE)],
        changes=["order-8"],
    ),
    "title": Samples(
        accepted=[
            *("t", "t" * 200, DOOR * 200, "\U0001f469\u200d\U0001f467" * 66),
            " T\u00fcr\u00a0auf \u0627\u0644\u0628\u0627\u0628 ",
        ],
        refused=[
            *("", " \u00a0", "\u3000 ", "s3cret\n", "s3cret\r", "s3cret\tx"),
            *("s3cret\x00", "s3cret\x1b[31m", "s3cret\x7f", "s3cret\x85"),
            *("s3cret\u2028", "s3cret\u2029x", "s3cret\ufffe", "s3cret\ud800"),
            *("\udc69\ud83d", DOOR * 201, None, 42),
        ],
        too_long=[("t" * 201, "at most 200 characters")],
        changes=[f"{FULL['title']} ", normalize("NFD", FULL["title"])],
    ),
    "max_number": Samples(
        accepted=[None, 1, 10**15, 5.0, 1e15],
        refused=[
            *(0, -1, 0.0, 1.5, "7", True, 10**15 + 1, 1e15 + 1, 1e300, float("inf"))
        ],
    ),
    "description": Samples(
        accepted=[None, "", "d" * 65_536, "a\tb\r\nc\nd", DOOR],
        refused=["s3cret\x00", "s3cret\x0b", "s3cret\uffff", "s3cret\ud800"],
        too_long=[("d" * 65_537, "at most 65536 characters")],
        changes=[f"{FULL['description']}\n", "", None],
    ),
    "priority": Samples(
        accepted=[None, *PRIORITIES],
        refused=["", SECRET, "High", "HIGH", "high\n"],
        changes=["low", "medium"],
    ),
    "reporter": Samples(
        accepted=[None, "r", DOOR * 254],
        refused=["", " ", "\t", "s3cret\n", "s3cret\x00", "s3cret\ud800"],
        too_long=[("r" * 255, "at most 254 characters")],
        changes=["Ada@example.com", None],
    ),
    "labels": Samples(
        accepted=[None, [], ["l"] * 20, [DOOR * 64] * 20],
        refused=[SECRET, {"a": "b"}],
        refused_within=[
            *("", "  ", "s3cret\n", "s3cret\x00", "s3cret\ud800", 1, None, True),
            *([SECRET], {}),
        ],
        too_long=[
            (["l" * 65], "at most 64 characters"),
            (["l"] * 21, "at most 20 items"),
            (["l"] * 40_000, "at most 20 items"),
        ],
        changes=[
            ["all customers", "export"],
            ["export"],
            ["export", "all", "customers"],
            [],
        ],
    ),
    "attributes": Samples(
        accepted=[
            *(None, {}, {"a": ""}, {"#": "line\nbreak"}),
            {f"{number:0128}": "v" * 1024 for number in range(50)},
        ],
        refused=[[], [[SECRET, SECRET]]],
        refused_within=[
            *("s3cret\x00", "s3cret\x1b", "s3cret\ud800"),
            *(1, None, [SECRET], {}, {SECRET: SECRET}),
        ],
        too_long=[
            ({"a": "v" * 1025}, "at most 1024 characters"),
            ({"a" * 129: "v"}, "at most 128 characters"),
            (dict.fromkeys(map(str, range(51)), ""), "at most 50 items"),
        ],
        changes=[{"customer_id": "email", "channel": "C-311"}, {}],
    ),
}


OPTIONS: Final = {"project_id": "project", "idempotency_key": "key", "labels": "label"}
"""The options of `ticketctl send` whose names differ from their fields'."""
FOR_FILES: Final = {"attributes"}
"""The fields without an option."""


def options_of(fields: Mapping[str, Any]) -> list[str]:
    """Return the options of `ticketctl send` that ask for these fields."""
    return [
        text
        for name, value in fields.items()
        for member in (value if isinstance(value, list) else [value])
        for text in (f"--{OPTIONS.get(name, name).replace('_', '-')}", str(member))
    ]


def holding(field: str, member: Any) -> Any:
    """Return a list or an object with one more member, in the reason `field.1`."""
    return ["fine", member] if field == "labels" else {"a": "", "1": member}


def refused(field: str) -> list[Any]:
    """Return all values that no message may have."""
    samples = SAMPLES[field]
    within = [holding(field, member) for member in samples.refused_within]
    return [*samples.refused, *within, *(value for value, _ in samples.too_long)]
