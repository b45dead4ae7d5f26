"""An answer of DynamoDB is believed if it is whole, by its checksum or as JSON."""

import json
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

import pytest

from ticket_numbering.contract.checksum import is_damaged

CONTENTS: Final = [json.dumps({"Count": count}).encode() for count in range(40)]
WHOLE: Final = CONTENTS[0]
CUT_OFF: Final = [WHOLE[:length] for length in range(len(WHOLE))]
DIGITS: Final = 10
"""Of the highest checksum; every fifth is lower than a billion, and has fewer."""


@dataclass(frozen=True)
class Answer:
    """An answer, as far as botocore's has it."""

    content: bytes
    checksum: int | str | None = None
    status_code: int = 200
    headers: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Have the header, if there is one."""
        if self.checksum is not None:
            self.headers["x-amz-crc32"] = str(self.checksum)


@pytest.mark.parametrize("digits", [0, DIGITS])
def test_whole_answer_is_not_damaged_in_either_form_of_its_checksum(
    digits: int,
) -> None:
    forms = {content: f"{crc32(content):0{digits}}" for content in CONTENTS}

    assert any(crc32(content) < 10 ** (DIGITS - 1) for content in CONTENTS)
    assert not any(is_damaged(Answer(*form)) for form in forms.items())


@pytest.mark.parametrize("checksum", [crc32(WHOLE), None])
def test_answer_is_damaged_when_it_is_cut_off_anywhere(checksum: int | None) -> None:
    assert all(is_damaged(Answer(content, checksum)) for content in CUT_OFF)


@pytest.mark.parametrize("checksum", ["", "none", "-1", f"{crc32(WHOLE)}0"])
def test_answer_is_damaged_when_its_checksum_is_another_or_no_number(
    checksum: str,
) -> None:
    assert is_damaged(Answer(WHOLE, checksum))


def test_error_without_a_checksum_is_judged_by_its_status_alone() -> None:
    """A load balancer's page of 503 is an answer; one of 200 is none."""
    assert not any(is_damaged(Answer(page, None, 503)) for page in CUT_OFF)
