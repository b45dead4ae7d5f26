"""Finds a deployed stack by its name, and reads its outputs.

A real account and the local system, at `AWS_ENDPOINT_URL`, work alike. Nothing here
needs the worker's code.
"""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from pydantic import ValidationError

from ticket_numbering.contract.json_body import problems
from ticket_numbering.contract.limits import Limits
from ticketctl import PROGRAM
from ticketctl.aws.aws_errors import (
    AWS_ERRORS,
    AwsError,
    error_code,
    explained,
    is_no_answer,
    is_of_credentials,
    reject_damaged,
    reject_page,
    without_credentials,
)
from ticketctl.aws.outputs import NEEDED_OUTPUTS, outputs_of
from ticketctl.cli.errors import CloudError
from ticketctl.cli.output import print_note
from ticketctl.cli.pages import docs

# A person waits: fail on a dead address in seconds, but outlast a long poll (20 s).
_CONFIG: Final = Config(
    connect_timeout=5,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 4},
)

# With a saved description at hand.
_IMPATIENT: Final = Config(
    connect_timeout=3,
    read_timeout=10,
    retries={"mode": "standard", "total_max_attempts": 2},
)


class StackAccess(Protocol):
    """A deployed system, on AWS or on this machine."""

    @property
    def name(self) -> str:
        """The stack's name."""
        ...

    @property
    def program(self) -> str:
        """The program with the options of this stack, for messages with commands."""
        ...

    @property
    def outputs(self) -> Mapping[str, str]:
        """The stack's outputs, by name."""
        ...

    def client(self, service_name: str) -> Any:
        """Return the thread-safe boto3 client of a service, such as `sqs`."""
        ...


@dataclass(frozen=True)
class Stack:
    """A stack of an AWS account."""

    name: str
    region: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    session: boto3.Session
    _clients: dict[str, Any] = field(default_factory=dict)
    program: str = PROGRAM
    # Clients may be shared by threads; creating them may not.
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def retention_days(self) -> int:
        """The retention of idempotency keys; 0 means for ever."""
        return int(self.parameters["IdempotencyRetentionDays"])

    @property
    def number_padding(self) -> int:
        """The minimum of digits of a number for display."""
        return int(self.parameters["NumberPadding"])

    def client(self, service_name: str) -> Any:
        """Return the thread-safe boto3 client of a service, such as `sqs`."""
        with self._lock:
            if service_name not in self._clients:
                self._clients[service_name] = _client(self.session, service_name)
            return self._clients[service_name]


def find_stack(
    name: str,
    region: str | None,
    profile: str | None,
    saved: Path | None = None,
    program: str = PROGRAM,
) -> Stack:
    """Find a stack with the credentials and Region of the AWS CLI.

    If CloudFormation does not answer, the saved output of `describe-stacks` counts.

    Raises:
        CloudError: No stack has that name, it belongs to another system, or the saved
            output is another stack's.
    """
    # boto3 ignores the variable that the AWS CLI reads first.
    region = region or os.environ.get("AWS_REGION")
    session = boto3.Session(profile_name=profile, region_name=region)
    config = _IMPATIENT if saved else _CONFIG
    cloudformation = _client(session, "cloudformation", config)
    region_name = cloudformation.meta.region_name
    try:
        [described] = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except EOFError as error:
        raise without_credentials(error) from error
    except AWS_ERRORS as error:
        described = _described_before(error, saved, name, session, region_name)
    outputs = outputs_of(described)
    parameters = {
        parameter["ParameterKey"]: parameter["ParameterValue"]
        for parameter in described.get("Parameters", [])
    }
    if missing := [name for name in NEEDED_OUTPUTS if name not in outputs]:
        raise CloudError(
            f"the stack {name} in {region_name} is not one of ticket numbering, or is "
            f"not complete ({described['StackStatus']}): it has no output {missing[0]}"
        )
    # The name may be an ARN, too.
    own = described["StackName"]
    return Stack(own, region_name, outputs, parameters, session, program=program)


def _described_before(
    error: AwsError, file: Path | None, name: str, session: boto3.Session, region: str
) -> dict[str, Any]:
    """Return the saved description of a stack, if CloudFormation does not answer.

    Raises:
        CloudError: The stack does not exist, or the file is another stack's.
    """
    if isinstance(error, ClientError) and error_code(error) == "ValidationError":
        raise CloudError(
            f"no stack {name} in {region} of this account; "
            "name it with --stack, and its Region with --region; if it was deleted, do "
            f"not deploy it again before {docs()}recovery.md"
        ) from error
    if not is_no_answer(error):
        raise error
    if not file:
        instead = "meanwhile --outputs FILE reads a saved `describe-stacks`"
        raise CloudError(f"{explained(error)}; {instead}") from error
    described = _saved(file, name, region)
    account = _checked_account(described, session)
    origin = f"the outputs are those of {file}{account}"
    print_note(f"CloudFormation does not answer: {origin} ({explained(error)})")
    return described


def _saved(file: Path, name: str, region: str) -> dict[str, Any]:
    """Return the description of a stack in an output of `describe-stacks`.

    Raises:
        CloudError: The file has no such output, or it is another stack's.
    """
    try:
        described: dict[str, Any]
        [described] = json.loads(file.read_bytes())["Stacks"]
        names = described["StackName"], described["StackId"]
        own_region = names[1].split(":")[3]
    except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        answer = "one answer of `aws cloudformation describe-stacks`"
        raise CloudError(f"{file} has not {answer}: {error!r}") from error
    if name not in names or region != own_region:
        raise CloudError(
            f"{file} is of {names[0]} in {own_region}, not of {name} in {region}"
        )
    return described


def _checked_account(described: Mapping[str, str], session: boto3.Session) -> str:
    """Check that the caller belongs to the stack's account; return a warning.

    Raises:
        CloudError: The caller belongs to another account.
    """
    try:
        client = _client(session, "sts", _IMPATIENT)
        own = client.get_caller_identity()["Account"]
    except AWS_ERRORS as error:
        if not is_no_answer(error):
            raise
        return ", whose account could not be checked"
    if own not in described["StackId"].split(":"):
        raise CloudError(f"{described['StackId']} is of another account than {own}")
    return ""


def location_of(stack: StackAccess) -> str:
    """Return the stack's name, Region and account, because names can repeat."""
    region, account = stack.outputs["AssignmentsTopicArn"].split(":")[3:5]
    return f"{stack.name} in {region} of the account {account}"


def limits_of(stack: StackAccess) -> Limits:
    """Return the limits of the stack, by its outputs.

    Raises:
        CloudError: A limit is malformed, so the worker does not start either.
    """
    try:
        return Limits.model_validate(stack.outputs)
    except ValidationError as error:
        problem = f"the stack has a malformed limit: {problems(error)}"
        raise CloudError(problem) from error


def caller_arn(stack: StackAccess) -> str:
    """Return the ARN of the caller, which needs no right."""
    arn: str = stack.client("sts").get_caller_identity()["Arn"]
    return arn


def _client(session: boto3.Session, service_name: str, config: Config = _CONFIG) -> Any:
    # The name is not a literal here, so no overload of the stubs fits.
    create: Any = session.client
    try:
        client = create(service_name, config=config)
        # botocore checks an address here, and its port only in a call.
        _ = urlsplit(client.meta.endpoint_url).port
    except ValueError as error:
        if is_of_credentials(error):
            raise without_credentials(error) from error
        raise CloudError(f"{error}; check AWS_ENDPOINT_URL and the Region") from error
    for event in "after-call", "after-call-error":
        client.meta.events.register(f"{event}.dynamodb", reject_damaged)
        client.meta.events.register(event, reject_page)
    return client
