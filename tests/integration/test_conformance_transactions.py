"""TransactWriteItems, as its API reference and the developer guide document it."""

from typing import Any

import pytest

from tests.support.conformance import DONE, Backend, OnEveryBackend, fate

CANCELLED = "TransactionCanceledException"
FAILED = "ConditionalCheckFailed"

Action = dict[str, Any]


def put_ticket(backend: Backend, number: int, **more: Any) -> Action:
    """Put a ticket where there is none."""
    content = {
        "TableName": backend.tickets,
        "Item": {"project_id": {"S": "PROJ"}, "number": {"N": str(number)}},
        "ConditionExpression": "attribute_not_exists(project_id)",
    }
    return {"Put": content | more}


def put_key(backend: Backend, name: str, text: str = "-", **more: Any) -> Action:
    """Put the record of a key where there is none; show the old one if there is."""
    content = {
        "TableName": backend.keys,
        "Item": {"id": {"S": name}, "text": {"S": text}},
        "ConditionExpression": "attribute_not_exists(id)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return {"Put": content | more}


def write(backend: Backend, *actions: Action, **more: Any) -> None:
    """Write all or nothing."""
    backend.dynamodb.transact_write_items(TransactItems=list(actions), **more)


def reasons(backend: Backend, *actions: Action) -> Any:
    """Write what is to be cancelled; return the reasons, without their messages."""
    exceptions = backend.dynamodb.exceptions
    with pytest.raises(exceptions.TransactionCanceledException) as raised:
        write(backend, *actions)
    listed = raised.value.response["CancellationReasons"]
    return [
        {name: each[name] for name in ("Code", "Item") if name in each}
        for each in listed
    ]


def written(backend: Backend) -> list[str]:
    """Return all that is in the tables: numbers, then names of keys."""
    tickets = backend.dynamodb.query(
        TableName=backend.tickets,
        KeyConditionExpression="project_id = :project",
        ExpressionAttributeValues={":project": {"S": "PROJ"}},
        ConsistentRead=True,
    )["Items"]
    wanted = {"Keys": [{"id": {"S": each}} for each in "abc"], "ConsistentRead": True}
    answer = backend.dynamodb.batch_get_item(RequestItems={backend.keys: wanted})
    keys = answer["Responses"].get(backend.keys, [])
    return [
        *(each["number"]["N"] for each in tickets),
        *sorted(each["id"]["S"] for each in keys),
    ]


def none(count: int) -> list[Action]:
    """Return the reasons of actions that nothing is wrong with."""
    return [{"Code": "None"}] * count


class TestAllOrNothing(OnEveryBackend):
    """Developer guide, "Amazon DynamoDB transactions: How it works"."""

    def test_transaction_writes_everything_when_every_condition_holds(
        self, backend: Backend
    ) -> None:
        """Across tables, in one call."""
        write(backend, put_ticket(backend, 1), put_key(backend, "a"))
        write(backend, put_ticket(backend, 2), put_key(backend, "b"))

        assert written(backend) == ["1", "2", "a", "b"]

    @pytest.mark.parametrize("position", [0, 1, 2, 3])
    def test_transaction_writes_nothing_when_one_condition_fails(
        self, backend: Backend, position: int
    ) -> None:
        """Wherever the failing action stands."""
        write(backend, put_ticket(backend, 1))
        actions = [put_ticket(backend, 2), put_key(backend, "a"), put_key(backend, "b")]
        actions.insert(position, put_ticket(backend, 1))

        seen = fate(lambda: write(backend, *actions))

        codes = ["None"] * 3
        codes.insert(position, FAILED)
        assert seen == " ".join([CANCELLED, *codes])
        assert written(backend) == ["1"]

    def test_transaction_commits_when_another_was_cancelled_before(
        self, backend: Backend
    ) -> None:
        """What a cancelled transaction touched is free again."""
        write(backend, put_ticket(backend, 1))
        actions = [put_ticket(backend, 2), put_key(backend, "a")]
        fate(lambda: write(backend, *actions, put_ticket(backend, 1)))

        assert fate(lambda: write(backend, *actions)) == DONE
        assert written(backend) == ["1", "2", "a"]

    def test_transaction_deletes_and_checks_when_it_is_asked_to(
        self, backend: Backend
    ) -> None:
        """Deletes and checks are actions like puts."""
        write(backend, put_ticket(backend, 1), put_key(backend, "a"))
        key = {"project_id": {"S": "PROJ"}, "number": {"N": "1"}}
        condition = "attribute_exists(project_id)"
        delete = {"TableName": backend.keys, "Key": {"id": {"S": "a"}}}
        check = {"TableName": backend.tickets, "Key": key}

        write(
            backend,
            {"ConditionCheck": check | {"ConditionExpression": condition}},
            {"Delete": delete},
        )

        assert written(backend) == ["1"]


class TestReasons(OnEveryBackend):
    """TransactWriteItems API reference, "TransactionCanceledException"."""

    def test_reasons_are_mixed_when_tickets_and_keys_exist(
        self, backend: Backend
    ) -> None:
        """Each action has its own, in the order of the request."""
        old = put_key(backend, "a", "old")
        write(backend, put_ticket(backend, 1), put_ticket(backend, 2), old)

        listed = reasons(
            backend,
            *(put_ticket(backend, 1), put_key(backend, "b")),
            *(put_ticket(backend, 3), put_key(backend, "a", "new")),
            *(put_ticket(backend, 2), put_key(backend, "c")),
        )

        shown = {"Code": FAILED, "Item": old["Put"]["Item"]}
        taken = {"Code": FAILED}
        assert listed == [taken, *none(2), shown, taken, *none(1)]
        assert written(backend) == ["1", "2", "a"]

    def test_reasons_tell_both_when_two_conditions_fail(self, backend: Backend) -> None:
        """The first does not hide the second."""
        taken = [put_ticket(backend, 1), put_ticket(backend, 2)]
        write(backend, *taken)

        assert fate(lambda: write(backend, *taken)) == f"{CANCELLED} {FAILED} {FAILED}"

    @pytest.mark.parametrize("asked", ["ALL_OLD", "NONE", None])
    def test_reasons_show_the_old_item_when_the_action_asks_for_it(
        self, backend: Backend, asked: str | None
    ) -> None:
        """ReturnValuesOnConditionCheckFailure counts for its own action alone."""
        write(backend, put_ticket(backend, 1), put_key(backend, "a", "old"))
        wanted = {"ReturnValuesOnConditionCheckFailure": asked} if asked else {}

        ticket = put_ticket(backend, 1, **wanted)
        first, second = reasons(backend, ticket, put_key(backend, "a"))

        assert ("Item" in first) is (asked == "ALL_OLD")
        assert second["Item"] == {"id": {"S": "a"}, "text": {"S": "old"}}

    def test_reasons_show_no_item_when_nothing_is_wrong_with_it(
        self, backend: Backend
    ) -> None:
        """An innocent action has the code "None", and nothing else."""
        write(backend, put_ticket(backend, 1))
        actions = [put_key(backend, "a"), put_ticket(backend, 1)]

        with pytest.raises(
            backend.dynamodb.exceptions.TransactionCanceledException
        ) as raised:
            write(backend, *actions)

        assert raised.value.response["CancellationReasons"][0] == {"Code": "None"}


def token(backend: Backend, name: str) -> dict[str, str]:
    """Return a token of this case alone: an account has one space of them."""
    return {"ClientRequestToken": f"{backend.tickets}-{name}"}


class TestTokens(OnEveryBackend):
    """TransactWriteItems API reference, "ClientRequestToken"."""

    def test_token_makes_a_repeated_call_succeed_without_effect(
        self, backend: Backend
    ) -> None:
        """Nothing is written again, nor checked: an answer was lost, no more."""
        actions = [put_ticket(backend, 1), put_key(backend, "a")]
        write(backend, *actions, **token(backend, "one"))
        key = {"id": {"S": "a"}}
        backend.dynamodb.delete_item(TableName=backend.keys, Key=key)

        seen = fate(lambda: write(backend, *actions, **token(backend, "one")))

        assert seen == backend.expected(DONE)
        assert written(backend) == ["1"]

    def test_token_is_refused_when_the_content_is_another(
        self, backend: Backend
    ) -> None:
        """One token stands for one request."""
        write(backend, put_ticket(backend, 1), **token(backend, "one"))
        other = put_ticket(backend, 2)

        seen = fate(lambda: write(backend, other, **token(backend, "one")))

        there = written(backend)
        mismatch = "IdempotentParameterMismatchException"
        assert (seen, there) == backend.expected((mismatch, ["1"]))

    def test_other_token_makes_a_repeated_call_another_one(
        self, backend: Backend
    ) -> None:
        """Only the conditions protect then."""
        write(backend, put_ticket(backend, 1), **token(backend, "one"))

        again = put_ticket(backend, 1)
        seen = fate(lambda: write(backend, again, **token(backend, "two")))

        assert seen == f"{CANCELLED} {FAILED}"
