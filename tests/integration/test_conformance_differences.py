"""The list of what a backend does otherwise than AWS is known to do.

`python -m tests.integration.test_conformance_differences` prints it.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.integration.observed import OBSERVED, source_of

BACKENDS: Final = ("model", "moto", "emulator")
AS_DOCUMENTED: Final = "as documented"
"""What a backend does, unless its column says something else."""

INVALID: Final = "ValidationException"
CANCELLED: Final = "TransactionCanceledException"
DONE: Final = "done"
TAKEN: Final = "taken"
NOT_TAKEN: Final = "not taken"
PROOF: Final = Path(__file__).parents[2] / "docs" / "proof.md"


@dataclass(frozen=True, slots=True)
class Difference:
    """A case in which one backend, or more, does something else."""

    case: str
    """The name of the test, with the parameters that are not the backend."""
    what: str
    documented: Any
    model: Any = AS_DOCUMENTED
    moto: Any = AS_DOCUMENTED
    emulator: Any = AS_DOCUMENTED

    def expected_of(self, backend: str) -> Any:
        """Return what the backend does."""
        does = getattr(self, backend)
        return self.documented if does == AS_DOCUMENTED else does


def _of_reads_and_writes() -> Iterator[Difference]:
    yield Difference(
        "test_query_is_refused_when_a_reserved_word_is_projected",
        "Query that projects the reserved word `number`",
        INVALID,
        # Not modelled: what the adapter projects is a constant, which moto checks.
        model=DONE,
        emulator=DONE,
    )
    yield Difference(
        "test_query_is_refused_when_its_key_cannot_be[number]",
        "Query with a number for a key of type S",
        INVALID,
        moto=DONE,
    )
    yield Difference(
        "test_batch_get_item_is_refused_when_its_keys_are_wrong[empty]",
        "BatchGetItem with an empty key value",
        INVALID,
        moto=DONE,
    )
    yield Difference(
        "test_get_item_is_refused_when_the_key_does_not_match[type]",
        "GetItem with a text for a key of type N",
        INVALID,
        moto=DONE,
    )
    yield Difference(
        "test_update_item_shows_what_it_is_asked_for[updated]",
        "UpdateItem that creates the item, `UPDATED_NEW`",
        {"last": {"N": "1"}},
        moto={"id": {"S": "counter"}, "last": {"N": "1"}},
    )


def _of_transactions() -> Iterator[Difference]:
    yield Difference(
        "test_transaction_is_refused_when_it_has_more_than_four_megabytes",
        "transaction over 4 MB, and what is written",
        (INVALID, []),
        moto=(DONE, ["a"]),
    )
    yield Difference(
        "test_transaction_takes_an_item_when_it_has_400_kilobytes_to_the_byte",
        "transaction with an item of 400 KB, a number among its attributes",
        DONE,
        moto=INVALID,
    )
    held = "test_transaction_is_refused_when_no_table_can_hold_an_item"
    yield Difference(
        f"{held}[type]",
        "transaction with a key of another type, and what is written",
        (f"{CANCELLED} None ValidationError", []),
        moto=(INVALID, []),
    )
    yield Difference(
        f"{held}[keyless]",
        "transaction with an item that lacks its key, and what is written",
        (f"{CANCELLED} None ValidationError", []),
        moto=(f"{CANCELLED} None KeyError", []),
        emulator=(DONE, ["1"]),
    )
    yield Difference(
        "test_token_makes_a_repeated_call_succeed_without_effect",
        "same ClientRequestToken, same content",
        DONE,
        moto=f"{CANCELLED} ConditionalCheckFailed None",
    )
    yield Difference(
        "test_token_is_refused_when_the_content_is_another",
        "same ClientRequestToken, other content, and what is written",
        ("IdempotentParameterMismatchException", ["1"]),
        moto=(DONE, ["1", "2"]),
    )


def _of_batch_calls() -> Iterator[Difference]:
    rule = "test_batch_call_is_refused_when_it_breaks_a_rule"
    yield Difference(
        f"{rule}[none-sns]",
        "PublishBatch without entries",
        "EmptyBatchRequest",
        moto=DONE,
        emulator="InvalidParameterException",
    )
    for case, what in {"id": "a space in an id", "longid": "an id of 81"}.items():
        yield Difference(
            f"{rule}[{case}-sns]",
            f"PublishBatch with {what}",
            "InvalidBatchEntryId",
            moto=DONE,
            emulator=DONE,
        )
    size = "test_batch_call_is_refused_when_it_is_too_long"
    over, attributes = "over 256 KiB in all", "over {} with its attributes alone"
    for case, what, code in (
        ("sum-sns", f"PublishBatch {over}", ""),
        ("attributes-sns", f"PublishBatch {attributes.format('256 KiB')}", ""),
        (
            "attributes-sqs",
            f"SendMessageBatch {attributes.format('1 MiB')}",
            "AWS.SimpleQueueService.",
        ),
    ):
        documented = f"{code}BatchRequestTooLong"
        yield Difference(f"{size}[{case}]", what, documented, moto=DONE, emulator=DONE)


def _of_messages() -> Iterator[Difference]:
    for case, what in {
        "control": "a control character in the body",
        "nocharacter": "U+FFFF in the body",
        "empty": "an empty body",
    }.items():
        yield _message(case, what, moto=TAKEN)
    broken = UnicodeEncodeError.__name__
    yield _message("surrogate", "a lone surrogate in the body", moto=broken)
    for case, what in {
        "attribute": "a control character in an attribute",
        "noattribute": "an empty attribute",
        "eleven": "eleven attributes",
    }.items():
        yield _message(case, what, moto=TAKEN, emulator=TAKEN)
    for case in ("control", "empty"):
        yield Difference(
            f"test_dead_letters_fail_one_by_one[{case}]",
            f"our SQS adapter, sending such a body ({case}), names it as failed",
            [True],
            moto=[],
        )


def _message(case: str, what: str, **does: str) -> Difference:
    test = "test_send_message_batch_does_not_take_what_no_message_may_hold"
    return Difference(f"{test}[{case}]", f"SQS entry with {what}", NOT_TAKEN, **does)


DIFFERENCES: Final = {
    each.case: each
    for some in (_of_reads_and_writes, _of_transactions, _of_batch_calls, _of_messages)
    for each in some()
}


def markdown() -> str:
    """Return the list as a table."""
    heads = ("case", "source", "AWS", *BACKENDS)
    rows: list[tuple[str, ...]] = [heads, ("---",) * len(heads)]
    rows += [
        (
            each.what,
            source_of(each.case),
            *map(_shown, (each.documented, each.model, each.moto, each.emulator)),
        )
        for each in DIFFERENCES.values()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _shown(does: Any) -> str:
    if does == AS_DOCUMENTED:
        return "="
    if isinstance(does, tuple):
        seen, written = does
        return f"{seen}; {', '.join(written) or 'nothing'}"
    return str(does)


class TestTheList:
    """The cases themselves see to it that it is true; this, that it is read."""

    def test_list_names_cases_that_exist(self) -> None:
        """A case that was renamed would leave its row behind."""
        modules = Path(__file__).parent.glob("test_conformance_*.py")
        tests = "\n".join(each.read_text() for each in modules)

        for case in (*DIFFERENCES, *OBSERVED):
            assert f"def {case.partition('[')[0]}(" in tests

    def test_list_has_nothing_that_is_as_documented(self) -> None:
        """Each row says of some backend what else it does."""
        for each in DIFFERENCES.values():
            does = [each.expected_of(backend) for backend in BACKENDS]
            assert any(one != each.documented for one in does)

    def test_model_does_what_is_documented_when_it_models_it(self) -> None:
        """All that it leaves out is the list of reserved words."""
        assert [
            each.what for each in DIFFERENCES.values() if each.model != AS_DOCUMENTED
        ] == ["Query that projects the reserved word `number`"]

    def test_documentation_shows_the_table(self) -> None:
        """Printed by this module."""
        assert markdown() in PROOF.read_text()


if __name__ == "__main__":
    sys.stdout.write(markdown() + "\n")
