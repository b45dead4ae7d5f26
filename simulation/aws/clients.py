"""The clients that the adapters get: methods, answers and exceptions as of boto3."""

from collections import defaultdict
from functools import cache
from itertools import count
from typing import Any

import boto3
from botocore.exceptions import ClientError

from simulation.aws.network import Network, Service
from simulation.aws.service import ServiceError


class Client:
    """A boto3 client of a simulated service."""

    def __init__(self, name: str, service: Service, network: Network) -> None:
        """Call the service over the network."""
        self.exceptions = _real_client(name).exceptions
        self._service = service
        self._network = network

    def call(self, operation: str, request: dict[str, Any]) -> Any:
        """Make a call.

        Raises:
            ClientError: The service refused it.
            BotoCoreError: There was no answer.
        """
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


class DynamoDBClient(Client):
    """What the adapters and the wrong ways call of DynamoDB."""

    def __init__(self, service: Service, network: Network) -> None:
        """Call DynamoDB over the network."""
        super().__init__("dynamodb", service, network)
        # For each process, so that a request says nothing of those before its process.
        self._serials: dict[str, count[int]] = defaultdict(lambda: count(1))

    def query(self, **request: Any) -> Any:
        """Read a part of a partition."""
        return self.call("query", request)

    def get_item(self, **request: Any) -> Any:
        """Read an item."""
        return self.call("get_item", request)

    def batch_get_item(self, **request: Any) -> Any:
        """Read items by their keys."""
        return self.call("batch_get_item", request)

    def put_item(self, **request: Any) -> Any:
        """Write an item."""
        return self.call("put_item", request)

    def update_item(self, **request: Any) -> Any:
        """Change an item."""
        return self.call("update_item", request)

    def delete_item(self, **request: Any) -> Any:
        """Delete an item."""
        return self.call("delete_item", request)

    def transact_write_items(self, **request: Any) -> Any:
        """Write all or nothing; every retry carries the token of the first try."""
        owner = self._network.scheduler.process.name
        serial = next(self._serials[owner])
        token = request.get("ClientRequestToken", f"{owner}/{serial}")
        return self.call(
            "transact_write_items", {**request, "ClientRequestToken": token}
        )


class SNSClient(Client):
    """What the adapters call of SNS."""

    def __init__(self, service: Service, network: Network) -> None:
        """Call SNS over the network."""
        super().__init__("sns", service, network)

    def publish_batch(self, **request: Any) -> Any:
        """Publish up to ten messages."""
        return self.call("publish_batch", request)


class SQSClient(Client):
    """What the adapters and the wrong ways call of SQS."""

    def __init__(self, service: Service, network: Network) -> None:
        """Call SQS over the network."""
        super().__init__("sqs", service, network)

    def send_message_batch(self, **request: Any) -> Any:
        """Send up to ten messages."""
        return self.call("send_message_batch", request)

    def delete_message(self, **request: Any) -> Any:
        """Delete a message, which is Lambda's business and not the worker's."""
        return self.call("delete_message", request)


@cache
def _real_client(name: str) -> Any:
    """Return a client whose exceptions are those of boto3."""
    make: Any = boto3.client  # Its type knows only names that stand in the source.
    return make(
        name,
        region_name="eu-west-1",
        aws_access_key_id="simulated",
        aws_secret_access_key="simulated",
    )
