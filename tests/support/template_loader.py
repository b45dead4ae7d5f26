"""The template as CloudFormation gets it: translated and resolved offline."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from samtranslator.yaml_helper import yaml_parse

from tests.support.paths import ROOT
from tools.translate import translate

TEMPLATE = ROOT / "template.yaml"

Json = dict[str, Any]

_NOTHING = object()
STACK = {
    "AWS::StackName": "app",
    "AWS::StackId": "arn:aws:cloudformation:eu-west-1:1:stack/app/01234567-89ab-cdef",
    "AWS::NoValue": _NOTHING,
}
SAMPLES = {
    "MaxReceiveCount": "8",
    "MemorySize": "1769",
    "ProducerAccounts": "012345678901,123456789012",
    "PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/boundary",
    "KmsKeyArn": "arn:aws:kms:eu-west-1:123456789012:key/01234567-89ab-cdef",
    "BatchSize": "7",
    "MaximumConcurrency": "9",
    "IdempotencyRetentionDays": "365",
    "AlarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:on-call",
    "AlarmEmail": "on-call@example.com",
    "DeploymentId": "7",
}
"""Values of the parameters that have no list of them."""


@cache
def source() -> Json:
    """Return the template as it is written; only for reading."""
    template: Json = yaml_parse(TEMPLATE.read_text(encoding="utf-8"))
    return template


def parameters() -> Json:
    declared: Json = source()["Parameters"]
    return declared


def others() -> dict[str, str]:
    """Return a value of each parameter that it does not have by default."""
    return {
        name: next(
            str(value)
            for value in rule.get("AllowedValues", [SAMPLES.get(name)])
            if value != rule["Default"]
        )
        for name, rule in parameters().items()
    }


def deployment_type() -> str:
    """Return the steps in which a new version takes over, if it does so gradually."""
    worker = source()["Resources"]["NumberingWorker"]["Properties"]
    return str(worker["DeploymentPreference"]["Type"])


def worker_as_written(**changed: Any) -> Json:
    """Return the template with these properties of the worker."""
    template: Json = json.loads(json.dumps(source(), default=str))
    template["Resources"]["NumberingWorker"]["Properties"] |= changed
    return template


def translated(template: Json, gradual_deployment: str = "false") -> Json:
    """Return the resources after the SAM transform."""
    # A deployment uploads the code first; the transform takes nothing but its address.
    worker = template["Resources"]["NumberingWorker"]["Properties"]
    worker["CodeUri"] = "s3://bucket/code.zip"
    resources: Json = translate(template, gradual_deployment)["Resources"]
    return resources


@cache
def _resources(gradual_deployment: str) -> Json:
    return translated(worker_as_written(), gradual_deployment)


def values_of(**chosen: str) -> Json:
    """Return the values of all parameters, those that are not chosen at default."""
    defaults = {name: str(rule["Default"]) for name, rule in parameters().items()}
    return STACK | defaults | chosen


def _referred_to(values: Json) -> Json:
    """Return the values as `Ref` has them: lists where the parameter is one."""
    lists = {
        name: values[name].split(",")
        for name, rule in parameters().items()
        if rule["Type"] == "CommaDelimitedList"
    }
    return values | lists


def deployed(**chosen: str) -> Json:
    """Return the resources as they are with these parameters, by logical id.

    A reference to a resource is written as in `Fn::Sub`: `${TicketsTable.Arn}`.
    """
    values = _referred_to(values_of(**chosen))
    conditions = source()["Conditions"]
    return {
        logical_id: resolved(resource, values)
        for logical_id, resource in _resources(values["GradualDeployment"]).items()
        if resolved(conditions.get(resource.get("Condition"), True), values)
    }


def listed(part: str | list[str]) -> list[str]:
    """Return a policy's value as a list; it may be a single text."""
    return [part] if isinstance(part, str) else part


def properties(logical_id: str, **chosen: str) -> Json:
    described: Json = deployed(**chosen)[logical_id]["Properties"]
    return described


def ids_of(resource_type: str, **chosen: str) -> list[str]:
    resources = deployed(**chosen).items()
    return [name for name, resource in resources if resource["Type"] == resource_type]


def the_only(resource_type: str, **chosen: str) -> Json:
    [logical_id] = ids_of(resource_type)
    return properties(logical_id, **chosen)


def refusals(**chosen: str) -> list[str]:
    """Return the constraints and rules that refuse these parameters."""
    values = values_of(**chosen)
    rules = source()["Rules"].values()
    return [
        *(
            parameter.get("ConstraintDescription", name)
            for name, parameter in parameters().items()
            if not _fits(values[name], parameter)
        ),
        *(
            assertion["AssertDescription"]
            for rule in rules
            if resolved(rule["RuleCondition"], values)
            for assertion in rule["Assertions"]
            if not resolved(assertion["Assert"], values)
        ),
    ]


def _fits(value: str, parameter: Json) -> bool:
    allowed = [str(choice) for choice in parameter.get("AllowedValues", [value])]
    is_number = parameter["Type"] == "Number"
    pattern = r"\d+" if is_number else parameter.get("AllowedPattern", ".*")
    is_list = parameter["Type"] == "CommaDelimitedList"
    members = value.split(",") if is_list else [value]
    if value not in allowed or not all(
        re.fullmatch(pattern, member) for member in members
    ):
        return False
    shortest, longest = (parameter.get(f"{end}Length") for end in ("Min", "Max"))
    if len(value) < (shortest or 0) or len(value) > (longest or len(value)):
        return False
    least, most = (parameter.get(bound, value) for bound in ("MinValue", "MaxValue"))
    return not is_number or int(least) <= int(value) <= int(most)


_FUNCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "Fn::And": all,
    "Fn::Or": any,
    "Fn::Not": lambda parts: not parts[0],
    "Fn::Equals": lambda parts: parts[0] == parts[1],
    "Fn::Contains": lambda parts: parts[1] in parts[0],
    "Fn::Select": lambda parts: parts[1][parts[0]],
    "Fn::Join": lambda parts: parts[0].join(parts[1]),
    "Fn::Split": lambda parts: parts[1].split(parts[0]),
    "Fn::FindInMap": lambda parts: source()["Mappings"][parts[0]][parts[1]][parts[2]],
    "Fn::GetAtt": lambda parts: f"${{{parts[0]}.{parts[1]}}}",
}


def resolved(part: Any, values: Mapping[str, Any]) -> Any:
    """Return a part of the template as it is with these values of its parameters."""
    match part:
        case {"Ref": str(name)}:
            return values.get(name, f"${{{name}}}")
        case {"Fn::If": [str(condition), yes, no]}:
            holds = resolved(source()["Conditions"][condition], values)
            return resolved(yes if holds else no, values)
        case {"Fn::Sub": sub}:
            text, names = sub if isinstance(sub, list) else (sub, {})
            return _substituted(text, {**values, **resolved(names, values)})
        case dict():
            return _applied({k: resolved(v, values) for k, v in part.items()})
        case list():
            members = [resolved(member, values) for member in part]
            return [member for member in members if member is not _NOTHING]
    return part


def _applied(members: Json) -> Any:
    for name, function in _FUNCTIONS.items():
        if name in members:
            return function(members[name])
    return {name: part for name, part in members.items() if part is not _NOTHING}


def _substituted(text: str, values: Mapping[str, Any]) -> str:
    return re.sub(r"\$\{([^}]+)\}", lambda match: values.get(match[1], match[0]), text)
