"""Responses of AWS about a stack, for services without a model."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any, Final

from botocore.validate import validate_parameters

from operators.model_services import aws_meta
from tests.support.builders import CALLER
from tests.support.canned_aws import aws_client, client_error, unreachable

SINCE: Final = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)
ALARM_TOPIC: Final = "arn:aws:sns:eu-west-1:123456789012:alarms"
ALIAS: Final = "arn:aws:lambda:eu-west-1:123456789012:function:worker:live"
FUNCTION: Final = ALIAS.rpartition(":")[0]
MAPPING: Final = "2d5043e3-c152-4a31-b849-784dabf650b4"
SECOND: Final = "7a1c5e02-88d3-4b6e-9d0f-3f6f6d2b9c11"
SECOND_QUEUE: Final = "arn:aws:sqs:eu-west-1:123456789012:second"
OTHER: Final = "arn:aws:lambda:eu-west-1:123456789012:function:worker-of-others"
TIMEOUT: Final = 30
GONE: Final = "ResourceNotFoundException"
_SWITCHED: Final = {"Disabling": "Disabled", "Enabling": "Enabled"}


def alarm(state: str = "OK", reason: str = "", **members: Any) -> dict[str, Any]:
    """Return an alarm that notifies."""
    return {
        "StateValue": state,
        "StateReason": reason,
        "StateUpdatedTimestamp": SINCE,
        "ActionsEnabled": True,
        "AlarmActions": [ALARM_TOPIC],
    } | members


@dataclass
class Controls:
    """Answers of CloudFormation, CloudWatch, Lambda and STS; all is well by default."""

    outputs: dict[str, str]
    parameters: dict[str, str]
    name: str = "numbers"
    alarms: dict[str, dict[str, Any] | None] = field(
        default_factory=lambda: {"WorkerErrorsAlarm": alarm()}
    )
    """By their names in the template; None for a deleted one."""
    removed: set[str] = field(default_factory=set)
    """The names of those that an update has removed from the stack."""
    mapping: str | None = "Enabled"
    """The mapping's state; none if the stack has no mapping."""
    leads_to: str = ALIAS
    second: str | None = None
    """The state of a mapping of a second queue, if there is one; it leads to the
    function itself, without a qualifier.
    """
    tags: dict[str, set[str]] = field(default_factory=dict)
    """The keys of the mappings' tags, by their ids."""
    changed: dict[str, datetime] = field(default_factory=dict)
    """When the mappings' states have changed since."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    alias: str | None = "7"
    """The alias's version; none if it was deleted."""
    weights: dict[str, float] = field(default_factory=dict)
    has_alarm_topic: bool = False
    ages: list[float] = field(default_factory=lambda: [0.0])
    """Of the oldest message, in the last minutes."""
    line: dict[str, list[float]] = field(default_factory=dict)
    """The metrics of the line, in the last minutes."""
    is_log_slow: bool = False
    """Whether no query of the log ends."""
    lost: set[str] = field(default_factory=set)
    """The lost settings: of a table, with its name, or the stack."""
    log: list[str] = field(default_factory=list)
    """The lines of the worker's log that a query finds, the newest last."""
    errors: dict[str, str] = field(default_factory=dict)
    """The code of an operation's error."""
    refused: dict[str, str] = field(default_factory=dict)
    """By service, modelled ones too: the code with which it refuses everything."""
    silent: set[str] = field(default_factory=set)
    """Services, modelled ones too, to which no connection can be made."""
    calls: list[str] = field(default_factory=list)
    _parameters: dict[str, Any] = field(default_factory=dict)
    """Of the call that is answered."""
    _clients: dict[str, Any] = field(default_factory=dict)
    """They are costly."""
    _asked: Any = None
    """The parameters of the current call."""

    def client(self, service: str, modelled: Any) -> Any:
        """Return a service's client, whose calls are answered here or by the model."""
        if service in self.silent:
            silent = unreachable(aws_client(service))
            silent.meta.events.register("provide-client-params", self._note)
            return silent
        if modelled is not None and service not in self.refused:
            modelled.meta = aws_meta(service)
            return modelled
        if service not in self._clients:
            self._clients[service] = aws_client(service)
            events = self._clients[service].meta.events
            events.register("provide-client-params", self._remember)
            events.register("before-call", self._answer)
        return self._clients[service]

    def _remember(self, params: dict[str, Any], **_: Any) -> None:
        self._parameters = params

    def _note(self, model: Any, **_: Any) -> None:
        self.calls.append(f"{model.service_model.service_name}:{model.name}")

    def _answer(self, model: Any, params: Any, **_: Any) -> Any:
        self._note(model)
        service = model.service_model.service_name
        code = self.refused.get(service) or self.errors.get(model.name)
        self._asked = params
        answer = None if code else getattr(self, f"_{model.name}")()
        if answer is None:
            answer = {"Error": {"Code": code or GONE, "Message": "No."}}
            return SimpleNamespace(status_code=400), answer
        if model.output_shape:
            validate_parameters(answer, model.output_shape)
        date = format_datetime(self.now(), usegmt=True)
        metadata = {"ResponseMetadata": {"HTTPHeaders": {"date": date}}}
        return SimpleNamespace(status_code=200), answer | metadata

    def _DescribeStacks(self) -> dict[str, Any]:  # noqa: N802 - as AWS has it.
        stack = {
            "StackName": self.name,
            "CreationTime": SINCE,
            "StackStatus": "UPDATE_COMPLETE",
            "EnableTerminationProtection": "termination" not in self.lost,
            "Outputs": _pairs("Output", self.outputs),
            "Parameters": _pairs("Parameter", self.parameters),
        }
        return {"Stacks": [stack]}

    def _ListStackResources(self) -> dict[str, Any]:  # noqa: N802
        resources = [
            {
                "LogicalResourceId": logical_id,
                "PhysicalResourceId": name,
                "ResourceType": f"AWS::{kind}",
                "LastUpdatedTimestamp": SINCE,
                "ResourceStatus": "DELETE_COMPLETE"
                if logical_id in self.removed
                else "CREATE_COMPLETE",
            }
            for logical_id, kind, name in self._created()
        ]
        return {"StackResourceSummaries": resources}

    def _created(self) -> Iterator[tuple[str, str, str]]:
        if self.mapping:
            yield "CreateTicketMapping", "Lambda::EventSourceMapping", MAPPING
        yield "WorkerAlias", "Lambda::Alias", ALIAS
        yield "Assignments", "SNS::Topic", self.outputs["AssignmentsTopicArn"]
        if self.has_alarm_topic:
            yield "AlarmTopic", "SNS::Topic", ALARM_TOPIC
        for name in self.alarms:
            yield name, "CloudWatch::Alarm", f"own-{name}"

    def _DescribeAlarms(self) -> dict[str, Any]:  # noqa: N802
        there = [
            alarm | {"AlarmName": f"own-{name}"}
            for name, alarm in self.alarms.items()
            if alarm and name not in self.removed
        ]
        return {"MetricAlarms": there}

    def _GetMetricStatistics(self) -> dict[str, Any]:  # noqa: N802
        name = self._parameters["MetricName"]
        is_age = name == "ApproximateAgeOfOldestMessage"
        values = self.ages if is_age else self.line.get(name, ())
        points = [
            {
                "Timestamp": SINCE + index * timedelta(minutes=1),
                "SampleCount": 1.0,
                "Average": value,
                "Maximum": value,
                "Sum": value,
            }
            for index, value in enumerate(values)
        ]
        return {"Datapoints": points[::-1]}

    def _GetStackPolicy(self) -> dict[str, Any]:  # noqa: N802
        return {} if "policy" in self.lost else {"StackPolicyBody": "{}"}

    def settings(self, service: str) -> dict[str, Callable[..., Any]]:
        """Return operations on the settings of the modelled services."""

        def noted(operation: str, lost: str) -> bool:
            self.calls.append(f"{service}:{operation}")
            if "table" in lost and lost in self.lost:
                raise client_error(GONE)
            return lost not in self.lost

        def describe_table(TableName: str) -> Any:  # noqa: N803 - as boto3 has it.
            noted("DescribeTable", f"{TableName} table")
            is_on = f"{TableName} protection" not in self.lost
            return {"Table": {"DeletionProtectionEnabled": is_on}}

        def describe_continuous_backups(TableName: str) -> Any:  # noqa: N803
            is_on = noted("DescribeContinuousBackups", f"{TableName} backups")
            status = "ENABLED" if is_on else "DISABLED"
            recovery = {"PointInTimeRecoveryStatus": status}
            return {
                "ContinuousBackupsDescription": {
                    "PointInTimeRecoveryDescription": recovery
                }
            }

        def describe_time_to_live(TableName: str) -> Any:  # noqa: N803
            is_on = noted("DescribeTimeToLive", f"{TableName} expiry")
            status = "ENABLED" if is_on else "DISABLED"
            return {"TimeToLiveDescription": {"TimeToLiveStatus": status}}

        def get_topic_attributes(TopicArn: str) -> Any:  # noqa: N803
            if not noted("GetTopicAttributes", "topic"):
                raise client_error("NotFound")
            return {"Attributes": {"TopicArn": TopicArn}}

        if service == "sns":
            return {"get_topic_attributes": get_topic_attributes}
        return {
            "describe_continuous_backups": describe_continuous_backups,
            "describe_time_to_live": describe_time_to_live,
            "describe_table": describe_table,
        }

    def _StartQuery(self) -> dict[str, Any]:  # noqa: N802
        return {"queryId": "q-1"}

    def _GetQueryResults(self) -> dict[str, Any]:  # noqa: N802
        """Return no line at first, as a query that still runs."""
        polls = self.calls.count("logs:GetQueryResults")
        is_done = polls > 1 and not self.is_log_slow
        rows = [
            [
                {"field": "@timestamp", "value": f"{SINCE:%Y-%m-%d %H:%M:%S}.000"},
                {"field": "@message", "value": text},
            ]
            for text in reversed(self.log)
        ]
        status = "Complete" if is_done else "Running"
        return {"status": status, "results": rows if is_done else []}

    def _ListEventSourceMappings(self) -> Mapping[str, Any]:  # noqa: N802
        """Return a page of one mapping; a switch takes effect afterwards.

        A function's name lists the mappings without a qualifier alone.
        """
        asked = self._asked["query_string"].get("FunctionName", "")
        there = [
            (MAPPING, "mapping", self.outputs["CreateTicketQueueArn"], self.leads_to),
            (SECOND, "second", SECOND_QUEUE, FUNCTION),
            (MAPPING[::-1], "", SECOND_QUEUE, OTHER),
        ]
        mappings = []
        for mapping_id, name, queue, function in there:
            if asked and not function.endswith(f":{asked}"):
                continue
            if state := getattr(self, name) if name else "Enabled":
                changed = self.changed.get(mapping_id, SINCE)
                mappings.append(
                    {
                        "UUID": mapping_id,
                        "State": state,
                        "EventSourceArn": queue,
                        "FunctionArn": function,
                        "LastModified": changed,
                    }
                )
                if name and state in _SWITCHED:
                    setattr(self, name, _SWITCHED[state])
                    self.changed[mapping_id] = self.now()
        index = int(self._asked["query_string"].get("Marker", 0))
        more = {"NextMarker": str(index + 1)} if index + 1 < len(mappings) else {}
        return {"EventSourceMappings": mappings[index : index + 1], **more}

    def _UpdateEventSourceMapping(self) -> Mapping[str, Any]:  # noqa: N802
        is_on = json.loads(self._asked["body"])["Enabled"]
        name = "second" if SECOND in self._asked["url_path"] else "mapping"
        setattr(self, name, "Enabling" if is_on else "Disabling")
        return {"State": getattr(self, name)}

    def _GetFunctionConfiguration(self) -> Mapping[str, Any]:  # noqa: N802
        return {"Timeout": TIMEOUT}

    @property
    def _tagged(self) -> set[str]:
        mapping_id = self._asked["url_path"].rpartition("%3A")[2].rpartition(":")[2]
        return self.tags.setdefault(mapping_id, set())

    def _TagResource(self) -> Mapping[str, Any]:  # noqa: N802
        self._tagged.update(json.loads(self._asked["body"])["Tags"])
        return {}

    def _UntagResource(self) -> Mapping[str, Any]:  # noqa: N802
        self._tagged.difference_update(self._asked["query_string"]["tagKeys"])
        return {}

    def _ListTags(self) -> Mapping[str, Any]:  # noqa: N802
        return {"Tags": dict.fromkeys(self._tagged, "")}

    def _GetAlias(self) -> Mapping[str, Any] | None:  # noqa: N802
        routing = {"AdditionalVersionWeights": self.weights}
        answer = {"AliasArn": ALIAS, "FunctionVersion": self.alias}
        return answer | {"RoutingConfig": routing} if self.alias else None

    def _GetCallerIdentity(self) -> dict[str, Any]:  # noqa: N802
        return {"Arn": CALLER, "Account": "123456789012"}


def _pairs(kind: str, values: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {f"{kind}Key": name, f"{kind}Value": value} for name, value in values.items()
    ]
