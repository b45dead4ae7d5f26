"""botocore clients without a network: real requests out, prepared answers back."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from zlib import crc32

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from urllib3 import HTTPResponse

_session = boto3.Session(region_name="eu-west-1")


def aws_client(service: str, attempts: int = 1) -> Any:
    """Return a client with this number of attempts a call."""
    create: Any = _session.client
    return create(
        service,
        config=Config(
            retries={"mode": "standard", "total_max_attempts": attempts},
            # The function leaves it out, so the tests of its adapters have it.
            parameter_validation=True,
        ),
    )


def unreachable(client: Any) -> Any:
    """Return the client, which gets no connection."""

    def fail(params: Mapping[str, Any], **_: Any) -> None:
        raise EndpointConnectionError(endpoint_url=params["url"])

    client.meta.events.register("before-call.*.*", fail)
    return client


def client_error(
    code: str,
    status: int = 400,
    message: str = "text that nothing depends on",
    **members: Any,
) -> ClientError:
    """Return an error as botocore raises it."""
    answer: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer | members, "Query")


def failing(error: BaseException) -> Callable[[], None]:
    """Return an act that fails."""

    def fail() -> None:
        raise error

    return fail


@dataclass(frozen=True)
class Reply:
    """An answer of a JSON service."""

    content: Mapping[str, Any] = field(default_factory=dict)
    status: int = HTTPStatus.OK
    checksum: str | None = None
    """DynamoDB's header; another one than `checksum_of` says that it is damaged."""
    encoding: str = "utf-8"
    page: str = ""
    """The login page of a proxy, in place of the content."""


def checksum_of(content: Mapping[str, Any]) -> str:
    """Return the checksum header of a response."""
    return str(crc32(json.dumps(content).encode()))


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
    requests: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take the network's place."""
        self.client.meta.events.register("before-send.*.*", self._send)

    def _send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        reply = self.replies[len(self.requests)]
        body: Any = request.body
        is_json = "X-Amz-Target" in request.headers
        self.requests.append(json.loads(body) if is_json else body)
        if not isinstance(reply, Reply):
            raise reply(request.url)
        text = reply.page or json.dumps(
            reply.content, ensure_ascii=reply.encoding == "utf-8"
        )
        content = io.BytesIO(text.encode(reply.encoding))
        raw = HTTPResponse(content, preload_content=False)
        headers = HTTPHeaders()
        if reply.page:
            headers["Content-Type"] = "text/html"
        if reply.checksum is not None:
            headers["X-Amz-Crc32"] = reply.checksum
        return AWSResponse(request.url, reply.status, headers, raw)
