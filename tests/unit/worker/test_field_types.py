"""The types of the contracts' fields."""

import re
import sys
from unicodedata import category

from ticket_numbering.contract.field_types import FORBIDDEN_CHARACTERS, NOT_ONE_LINE

# The characters that SQS and SNS accept, range by range; SendMessage in the SQS API.
ACCEPTED = [
    {0x9, 0xA, 0xD},
    range(0x20, 0xD7FF + 1),
    range(0xE000, 0xFFFD + 1),
    range(0x10000, 0x10FFFF + 1),
]

EVERY = [*map(chr, range(sys.maxunicode + 1))]


def test_forbidden_characters_are_all_but_those_that_sqs_accepts() -> None:
    """The function lists the forbidden ones, the API reference the accepted ones."""
    forbidden = {ord(char) for char in FORBIDDEN_CHARACTERS.findall("".join(EVERY))}

    assert forbidden == set(range(sys.maxunicode + 1)).difference(*ACCEPTED)


def test_one_line_has_no_breaks_and_controls_and_not_blanks_alone() -> None:
    """The pattern lists Unicode's blanks, controls and line breaks."""
    matches = re.compile(NOT_ONE_LINE["pattern"]).search
    breaks = {
        character
        for character in EVERY
        if category(character) in {"Cc", "Zl", "Zp"} or character in "\ufffe\uffff"
    }

    assert {other for other in EVERY if matches(f"x{other}")} == breaks
    assert {other for other in EVERY if matches(other)} == {
        *breaks,
        *filter(str.isspace, EVERY),
    }
    assert matches("\u00a0 \u3000")
