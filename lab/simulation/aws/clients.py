"""Clients for the adapters: methods, answers and exceptions are those of boto3."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from typing import Any, cast

import boto3
from botocore.exceptions import ClientError

from simulation.aws.errors import ServiceError
from simulation.aws.network import Network, Request, Service


class Client:
    """A boto3 client of a simulated service; any attribute is an operation."""

    def __init__(self, name: str, service: Service, network: Network) -> None:
        self.exceptions = _real_client(name).exceptions
        self._name = name
        self._service = service
        self._network = network
        # A counter for each process: a request does not depend on earlier processes.
        self._serials: dict[str, count[int]] = defaultdict(lambda: count(1))

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return lambda **request: self._call(operation, request)

    def configured(
        self, config: Mapping[str, Any], service: Service | None = None
    ) -> "Client":
        """Return another client of the service, or of the one in its place."""
        network = self._network.configured(config)
        return Client(self._name, service or self._service, network)

    def _call(self, operation: str, request: dict[str, Any]) -> Any:
        """Make a call.

        Raises:
            ClientError: The service rejected the request.
            BotoCoreError: No answer arrived.
        """
        if operation == "transact_write_items":
            # As botocore does: its retries carry the token of the first try.
            owner = self._network.scheduler.process.name
            token = f"{owner}/{next(self._serials[owner])}"
            request.setdefault("ClientRequestToken", token)
        try:
            return self._network.call(self._service, operation, request)
        except ServiceError as error:
            raise self._client_error(error, operation) from error

    def _client_error(self, error: ServiceError, operation: str) -> ClientError:
        answer: Any = {
            "Error": {"Code": error.code, "Message": error.message},
            "ResponseMetadata": {"HTTPStatusCode": int(error.status)},
            **error.members,
        }
        kind: type[ClientError] = self.exceptions.from_code(error.code)
        return kind(answer, operation)


class AlteredClient:
    """A client with some operations replaced."""

    def __init__(self, client: Any, **operations: Callable[..., Any]) -> None:
        vars(self).update(operations)
        self._client = client

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        return cast("Callable[..., Any]", getattr(self._client, operation))


def with_puts(client: Any, change: Callable[[Request], Request]) -> AlteredClient:
    """Return a client that changes every put of a transaction."""

    def write(**request: Any) -> Any:
        actions = [
            {"Put": change(action["Put"])} for action in request["TransactItems"]
        ]
        return client.transact_write_items(**request | {"TransactItems": actions})

    return AlteredClient(client, transact_write_items=write)


@cache
def _real_client(name: str) -> Any:
    """Return a client whose exceptions are those of boto3."""
    make: Any = boto3.client  # Its type accepts literal names only.
    return make(
        name,
        region_name="eu-west-1",
        aws_access_key_id="simulated",
        aws_secret_access_key="simulated",
    )
