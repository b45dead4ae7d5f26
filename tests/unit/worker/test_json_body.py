"""A body is one JSON object, or there is one clear reason why not."""

import json
from itertools import product
from string import ascii_lowercase

import pytest

from tests.support.cases import cases
from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.json_body import MAX_REPORTED_NAME, json_object, shown

DEEP = 100_000
NESTED = "[" * DEEP + "]" * DEEP
LONGEST = "n" * MAX_REPORTED_NAME

REFUSED = {
    "body: empty": ["", " ", "\r\n\t ", "\u00a0\u2003"],
    "body: starts with a byte-order mark": ["\ufeff{}", "\ufeff"],
    "body: must be a JSON object": [
        *("[]", '[{"a": "b"}]', "1", "-0.5", '"text"', "null", "true", "false"),
        *("NaN", "Infinity", "-Infinity", "9" * 5_000, "-" + "9" * 5_000),
    ],
    "body: nested too deeply": [
        *("[" * DEEP, NESTED, '{"a":' * DEEP + "1" + "}" * DEEP),
        f'{{"attributes": {{"a": {NESTED}}}}}',
    ],
    "a: appears more than once": [
        *('{"a": "x", "a": "y"}', '{"a": "x", "a": "x"}', '{"a": 1, "\\u0061": 2}'),
        *('{"b": {"a": "x", "a": "y"}}', '{"b": [{"c": {"a": "x", "a": "y"}}]}'),
    ],
    '"": appears more than once': ['{"": 1, "": 2}'],
    "body: not JSON: Expecting value: line 1 column 1 (char 0)": [
        *("create a ticket", "\x00", '<a b="c"/>', "a=b&c=d")
    ],
    "body: not JSON: Extra data: line 1 column 4 (char 3)": ["{} {}"],
    "body: not JSON: Invalid control character at: line 1 column 9 (char 8)": [
        *('{"a": "b\nc"}', '{"a": "b\x00"}')
    ],
}
NOT_JSON = ["{", '{"a": "b"', "{'a': 'b'}", '{"a": "b",}', '{"a": "\\x"}', '{"a": 01}']


def refusal(body: str) -> str:
    """Return the reason why a body is refused."""
    with pytest.raises(InvalidMessageError) as caught:
        json_object(body)
    return str(caught.value)


@pytest.mark.parametrize(
    "body",
    cases(
        {
            "empty": "{}",
            "nested": ' \r\n\t{"a": {"b": ["c", null, true]}}\n',
            "numbers": '{"a": 5, "b": 5.0, "c": 1000000000000000}',
            "odd-names": '{"a.b": "", "": "x"}',
            "same-name-in-different-objects": '{"a": {"a": "x"}, "b": {"a": "y"}}',
        }
    ),
)
def test_json_object_returns_what_json_says(body: str) -> None:
    assert repr(json_object(body)) == repr(json.loads(body))


@pytest.mark.parametrize("reason", REFUSED)
def test_json_object_tells_why_a_body_is_refused(reason: str) -> None:
    """The reason repeats nothing of the body but a name that is repeated there."""
    assert {refusal(body) for body in REFUSED[reason]} == {reason}


def test_json_object_tells_where_a_body_stops_being_json() -> None:
    for body in NOT_JSON:
        assert refusal(body).startswith("body: not JSON: ")
        assert "(char " in refusal(body)


@pytest.mark.timeout(120)
def test_json_object_reads_many_names_in_linear_time() -> None:
    names = ["".join(letters) for letters in product(ascii_lowercase, repeat=4)]
    members = [f'"{name}": ""' for name in names[:200_000]]

    assert len(json_object("{" + ",".join(members) + "}")) == 200_000
    assert refusal("{" + ",".join([*members, members[0]]) + "}") == (
        "aaaa: appears more than once"
    )


@pytest.mark.parametrize(
    ("name", "seen"),
    cases(
        {
            "visible": ("a Gr\u00f6\u00dfe \U0001f6aa", "a Gr\u00f6\u00dfe \U0001f6aa"),
            "longest": (LONGEST, LONGEST),
            "too-long": (f"{LONGEST}n", f"{LONGEST}..."),
            "empty": ("", '""'),
            "escape": ("\x1b[31m", '"\\u001b[31m"'),
            "surrogate": ("\ud800", '"\\ud800"'),
            "odd-and-too-long": ("\x00" * 65, '"' + "\\u0000" * 64 + '..."'),
        }
    ),
)
def test_shown_keeps_cuts_or_spells_out_a_name(name: str, seen: str) -> None:
    """The producer can tell which of its names is meant, and a log line can hold it."""
    assert shown(name) == seen
