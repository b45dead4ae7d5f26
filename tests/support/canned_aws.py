"""botocore clients without a network: real requests out, prepared answers back."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from urllib3 import HTTPResponse

_session = boto3.Session(region_name="eu-west-1")


def aws_client(service: str, tries: int = 1) -> Any:
    """Return a client; botocore makes so many tries of one call."""
    create: Any = _session.client
    return create(
        service,
        config=Config(retries={"mode": "standard", "total_max_attempts": tries}),
    )


def parameters(client: Any) -> list[dict[str, Any]]:
    """Return a list that fills with the parameters of the client's calls."""
    calls: list[dict[str, Any]] = []

    def remember(params: dict[str, Any], **_: Any) -> None:
        calls.append(params)

    client.meta.events.register("provide-client-params.*.*", remember)
    return calls


@dataclass(frozen=True)
class Reply:
    """An answer of a JSON service."""

    content: Mapping[str, Any] = field(default_factory=dict)
    status: int = HTTPStatus.OK


def error_reply(code: str, status: int = 400, **members: Any) -> Reply:
    """Return an error as a JSON service sends it."""
    kind = f"com.amazonaws.dynamodb.v20120810#{code}"
    return Reply({"__type": kind, "Message": f"{code}!"} | members, status)


@dataclass
class Wire:
    """Answers a client's requests in order, where it would open a connection."""

    client: Any
    replies: Sequence[Reply | Callable[[str], Exception]]
    """Exceptions are made for the address that was asked."""
    requests: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take the network's place."""
        self.client.meta.events.register("before-send.*.*", self._send)

    def _send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        reply = self.replies[len(self.requests)]
        self.requests.append(json.loads(request.body or b""))  # type: ignore[arg-type]
        if not isinstance(reply, Reply):
            raise reply(request.url)
        raw = HTTPResponse(
            io.BytesIO(json.dumps(reply.content).encode()), preload_content=False
        )
        return AWSResponse(request.url, reply.status, HTTPHeaders(), raw)
