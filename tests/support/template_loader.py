"""The template as CloudFormation gets it: translated offline, without an account."""

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from boto3.session import Session
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

TEMPLATE = Path(__file__).parents[2] / "template.yaml"

Json = dict[str, Any]

NOTHING = {"Ref": "AWS::NoValue"}


def source() -> Json:
    """Return the template as it is written."""
    template: Json = yaml_parse(TEMPLATE.read_text(encoding="utf-8"))
    return template


@cache
def translated(gradual_deployment: str = "false") -> Json:
    """Return the template after the SAM transform; shared, so only for reading."""
    template = source()
    # A deployment uploads the code first; the transform takes nothing but its address.
    worker = template["Resources"]["NumberingWorker"]["Properties"]
    worker["CodeUri"] = "s3://bucket/code.zip"
    # The Region decides nothing but the partition; without one the transform fails.
    session = Session(region_name="eu-west-1")
    translator = Translator(None, Parser(), boto_session=session)
    result: Json = translator.translate(
        template, parameter_values={"GradualDeployment": gradual_deployment}
    )
    return result


def resolved(part: Any, fifo: Collection[str] = ()) -> Any:
    """Return a part of the template as it is in one of the modes.

    Args:
        part: Anything; what hangs on other conditions stays as it is written.
        fifo: What is FIFO, `queues` or `topic`; the defaults are standard.
    """
    holds = {"HasFifoQueues": "queues" in fifo, "HasFifoTopic": "topic" in fifo}
    match part:
        case {"Fn::If": [str(condition), yes, no]} if condition in holds:
            return resolved(yes if holds[condition] else no, fifo)
        case dict():
            members = {name: resolved(each, fifo) for name, each in part.items()}
            return {name: each for name, each in members.items() if each != NOTHING}
        case list():
            return [resolved(each, fifo) for each in part]
    return part


def parameters() -> Json:
    """Return the parameters by name."""
    found: Json = translated()["Parameters"]
    return found


def refusals(**chosen: str) -> list[str]:
    """Return what the rules say against these parameters, the others at default."""
    defaults = {name: str(each.get("Default")) for name, each in parameters().items()}
    values = defaults | chosen
    return [
        assertion["AssertDescription"]
        for rule in source()["Rules"].values()
        if _holds(rule["RuleCondition"], values)
        for assertion in rule["Assertions"]
        if not _holds(assertion["Assert"], values)
    ]


def _holds(expression: Any, values: dict[str, str]) -> bool:
    match expression:
        case {"Fn::And": [*parts]}:
            return all(_holds(part, values) for part in parts)
        case {"Fn::Or": [*parts]}:
            return any(_holds(part, values) for part in parts)
        case {"Fn::Not": [part]}:
            return not _holds(part, values)
        case {"Fn::Equals": [{"Ref": str(name)}, str(value)]}:
            return values[name] == value
        case {"Fn::Contains": [list(allowed), {"Ref": str(name)}]}:
            return values[name] in allowed
    message = f"no rule is written like this: {expression}"
    raise AssertionError(message)


def resource(logical_id: str) -> Json:
    """Return a resource, with its type and policies."""
    found: Json = translated()["Resources"][logical_id]
    return found


def properties(logical_id: str, fifo: Collection[str] = ()) -> Json:
    """Return what a resource is configured with, in one of the modes."""
    found: Json = resolved(resource(logical_id)["Properties"], fifo)
    return found


def ids_of(resource_type: str) -> list[str]:
    """Return the logical ids of all resources of one type."""
    resources = translated()["Resources"].items()
    return [each for each, found in resources if found["Type"] == resource_type]


def the_only(resource_type: str, fifo: Collection[str] = ()) -> Json:
    """Return the configuration of the one resource of its type."""
    [logical_id] = ids_of(resource_type)
    return properties(logical_id, fifo)


def ref(name: str) -> Json:
    """Return a reference, as the translated template spells it."""
    return {"Ref": name}


def attribute(logical_id: str, name: str = "Arn") -> Json:
    """Return a reference to an attribute of a resource."""
    return {"Fn::GetAtt": [logical_id, name]}
