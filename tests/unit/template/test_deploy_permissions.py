"""The policy of `docs/install.md` is enough for a deployment, and for no more."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.paths import EXAMPLES, ROOT
from tests.support.template_loader import Json, deployed, listed, others

SAMPLES: Final = ROOT / "tests" / "support" / "samples"
HANDLERS: Final[Json] = json.loads(
    (SAMPLES / "handler_rights.json").read_text(encoding="utf-8")
)["types"]
"""Rights by resource type, and those that only a property needs.

To read a resource CloudFormation asks for all of its attributes, set or not.
"""
POLICY: Final[Path] = EXAMPLES / "deploy-permissions.json"
STATEMENTS: Final[list[Json]] = json.loads(POLICY.read_text(encoding="utf-8"))[
    "Statement"
]
CHARACTERS_OF_A_POLICY: Final = 6_144
"""Of a managed policy, without blanks; IAM User Guide, "IAM quotas"."""

RESOURCES: Final[list[Json]] = [
    *deployed(**others()).values(),
    *deployed(**others() | {"QueueType": "standard", "TopicType": "standard"}).values(),
]

NOT_BY_A_HANDLER: Final = {
    # SAM uploads the code, and a queue's messages are under the key.
    "s3:PutObject",
    "kms:GenerateDataKey",
}
NEVER: Final = {"iam:DeleteRolePermissionsBoundary"}
"""Its holder can give a role any right."""
WITHOUT_A_RESOURCE: Final = {
    *("codedeploy:StopDeployment", "sns:SetSubscriptionAttributes", "sns:Unsubscribe")
}


def properties_in(part: Any) -> Iterator[str]:
    """Yield the names of the properties at every depth."""
    if isinstance(part, dict):
        yield from part
        part = [*part.values()]
    if isinstance(part, list):
        for member in part:
            yield from properties_in(member)


def needed(kind: str) -> set[str]:
    """Return the rights that CloudFormation needs for the resources of a type."""
    own = [resource["Properties"] for resource in RESOURCES if resource["Type"] == kind]
    known, used = HANDLERS[kind], {*properties_in(own)}
    more = [
        rights for name, rights in known.get("only_with", {}).items() if name in used
    ]
    return {*known["rights"]}.union(*more)


def actions(statement: Json) -> set[str]:
    return {*listed(statement["Action"])}


KINDS: Final = sorted({resource["Type"] for resource in RESOURCES})
ALLOWED: Final[set[str]] = set().union(*map(actions, STATEMENTS))


def test_table_of_rights_has_the_types_of_the_translated_template() -> None:
    assert sorted(HANDLERS) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_policy_allows_what_the_handlers_of_a_type_need(kind: str) -> None:
    assert needed(kind) - ALLOWED <= NEVER


def test_policy_allows_no_more() -> None:
    more = ALLOWED - NOT_BY_A_HANDLER - set().union(*map(needed, KINDS))

    assert {right for right in more if not right.startswith("cloudformation:")} == set()
    assert not ALLOWED & NEVER


def test_policy_names_a_resource_unless_it_only_reads() -> None:
    """A mapping has none before it is there, so its function is named."""
    mapping, others = [
        statement for statement in STATEMENTS if statement["Resource"] == "*"
    ]
    verbs = ("Describe", "Get", "List")
    reading = {
        action for action in actions(others) if action.split(":")[1].startswith(verbs)
    }

    assert [*mapping["Condition"]["ArnLike"]] == ["lambda:FunctionArn"]
    assert actions(others) - reading == WITHOUT_A_RESOURCE


def test_policy_fits_one_managed_policy() -> None:
    text = POLICY.read_text(encoding="utf-8")

    assert len("".join(text.split())) <= CHARACTERS_OF_A_POLICY
