"""The types of the contracts' fields."""

import sys

from ticket_numbering.field_types import FORBIDDEN_CHARACTERS

# The characters that SQS and SNS accept, range by range; SendMessage in the SQS API.
ACCEPTED = [
    {0x9, 0xA, 0xD},
    range(0x20, 0xD7FF + 1),
    range(0xE000, 0xFFFD + 1),
    range(0x10000, 0x10FFFF + 1),
]


def test_forbidden_characters_are_all_but_those_that_sqs_accepts() -> None:
    """The function lists the forbidden ones, the API reference the accepted ones."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))

    forbidden = {ord(found) for found in FORBIDDEN_CHARACTERS.findall(every)}

    assert forbidden == set(range(sys.maxunicode + 1)).difference(*ACCEPTED)
