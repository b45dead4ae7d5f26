"""The cases that were observed on AWS; what no suite has shown is only documented.

A public suite runs each of its cases on DynamoDB before it keeps them:
github.com/paritysuite/dynamodb-conformance, under its earlier owner nubo-db at commit
0ba4393 (MIT) and at later ones up to 3aebbc9 (Apache 2.0). Its expectations were
taken, not its code. It runs one call at a time, so that it shows no conflict.
"""

from collections.abc import Mapping, Sequence
from typing import Final

_OBSERVED: Final[Mapping[str, Sequence[str]]] = {
    "tier1/batchGetItem": (
        "test_batch_get_item_leaves_out_what_does_not_exist",
        "test_batch_get_item_is_refused_when_its_keys_are_wrong[many]",
        "test_batch_get_item_is_refused_when_its_keys_are_wrong[twice]",
    ),
    "tier1/deleteItem/basic": ("test_delete_item_is_done_when_there_is_nothing",),
    "tier1/getItem": (
        "test_get_item_finds_the_whole_item",
        "test_get_item_answers_without_an_item_when_there_is_none",
        "test_get_item_is_refused_when_the_key_does_not_match[part]",
    ),
    "tier1/putItem": (
        "test_put_item_replaces_when_there_is_no_condition",
        "test_put_item_is_refused_when_no_table_can_hold_it[keyless]",
        "test_put_item_is_refused_when_there_is_no_table",
    ),
    "tier1/query": (
        "test_query_finds_the_highest_number_when_descending",
        "test_query_answers_in_order_when_ascending",
        "test_query_answers_nothing_when_the_partition_is_empty",
        "test_query_is_refused_when_its_key_cannot_be[nowhere]",
    ),
    "tier2/transactions/transactWrite": (
        "test_transaction_writes_everything_when_every_condition_holds",
        "test_transaction_deletes_and_checks_when_it_is_asked_to",
        "test_reasons_are_mixed_when_tickets_and_keys_exist",
        "test_token_makes_a_repeated_call_succeed_without_effect",
        "test_token_is_refused_when_the_content_is_another",
    ),
    "tier3/error-messages/conditionalCheck": (
        "test_put_item_shows_the_old_item_when_it_is_asked_to[ALL_OLD]",
    ),
    "tier3/error-messages/transactWriteItems": (
        "test_transaction_writes_nothing_when_one_condition_fails",
        "test_reasons_tell_both_when_two_conditions_fail",
        "test_transaction_is_refused_when_two_actions_have_one_item[Put]",
        "test_transaction_is_refused_when_no_table_can_hold_an_item[empty]",
        "test_transaction_is_refused_when_no_table_can_hold_an_item[type]",
        "test_transaction_is_refused_when_there_is_no_table",
    ),
    "tier3/limits/batchLimits": ("test_batch_get_item_takes_a_hundred_keys",),
    "tier3/limits/emptyValues": (
        "test_put_item_is_refused_when_no_table_can_hold_it[empty]",
    ),
    "tier3/limits/itemSize": (
        "test_put_item_is_refused_when_no_table_can_hold_it[large]",
    ),
    "tier3/limits/itemSizeBySurface and numberByteSize": (
        "test_transaction_takes_an_item_when_it_has_400_kilobytes_to_the_byte",
        "test_transaction_is_refused_when_no_table_can_hold_an_item[large]",
    ),
    "tier3/limits/transactionLimits": (
        "test_transaction_is_done_when_it_has_a_hundred_actions",
        "test_transaction_is_refused_when_it_has_more_actions",
        "test_transaction_is_done_when_it_has_almost_four_megabytes",
        "test_transaction_is_refused_when_it_has_more_than_four_megabytes",
    ),
}
"""By the suite's files; a name without parameters stands for all of its cases."""

OBSERVED: Final = frozenset(case for cases in _OBSERVED.values() for case in cases)


def source_of(case: str) -> str:
    """Tell on what a case's expectation rests."""
    return "observed" if {case, case.partition("[")[0]} & OBSERVED else "documented"
