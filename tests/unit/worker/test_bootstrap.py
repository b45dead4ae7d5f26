"""Clients are built once, with nothing left to botocore's changing defaults."""

from typing import Any

import pytest

from ticket_numbering.bootstrap import bootstrap
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.settings import Settings
from ticket_numbering.sns_publisher import SNSPublisher
from ticket_numbering.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.worker import MAX_PROJECTS_SIDE_BY_SIDE, Worker

SERVICES = ["dynamodb", "sns", "sqs"]
SETTINGS = Settings(
    TICKETS_TABLE="tickets",
    IDEMPOTENCY_KEYS_TABLE="idempotency-keys",
    ASSIGNMENTS_TOPIC_ARN="arn:aws:sns:eu-west-1:123456789012:assignments",
    DEAD_LETTER_QUEUE_URL="https://sqs.eu-west-1.amazonaws.com/123456789012/dead",
)


def clients(worker: Worker) -> dict[str, Any]:
    """Return the clients behind the worker's adapters, by service."""
    adapters: list[Any] = [
        worker.allocator.store,
        worker.publisher,
        worker.dead_letters,
    ]
    found = [vars(adapter)["_client"] for adapter in adapters]
    return {client.meta.service_model.service_name: client for client in found}


@pytest.fixture(scope="module", params=SERVICES)
def client(request: pytest.FixtureRequest) -> Any:
    """Return each client that the worker uses."""
    return clients(bootstrap(SETTINGS))[request.param]


class TestClients:
    """Every client says how long it waits and how often it tries."""

    def test_client_tries_twice_in_standard_mode(self, client: Any) -> None:
        """The default mode and count differ between versions of botocore."""
        assert client.meta.config.retries == {
            "mode": "standard",
            "total_max_attempts": 2,
        }

    def test_client_gives_up_while_the_invocation_still_has_time(
        self, client: Any
    ) -> None:
        """Two tries with their waits fit into the reserve before the deadline."""
        config = client.meta.config

        assert config.connect_timeout == 1
        assert config.read_timeout == 3
        longest_call = 2 * (config.connect_timeout + config.read_timeout) + 1
        default = Settings.model_fields["deadline_reserve_seconds"].default
        assert longest_call < default

    def test_client_keeps_its_connections_alive(self, client: Any) -> None:
        """A connection that died between invocations is noticed."""
        assert client.meta.config.tcp_keepalive is True

    def test_client_has_a_connection_for_every_thread(self, client: Any) -> None:
        """Projects side by side do not wait for each other's connections."""
        assert client.meta.config.max_pool_connections == MAX_PROJECTS_SIDE_BY_SIDE

    def test_client_uses_the_region_of_the_environment(self, client: Any) -> None:
        """Lambda sets it; nothing in the code does."""
        assert client.meta.region_name == "eu-west-1"


class TestWorker:
    """The worker gets its adapters, its limits and its names from the settings."""

    def test_bootstrap_picks_the_adapters_of_aws(self) -> None:
        """There is no other mode."""
        worker = bootstrap(SETTINGS)

        assert isinstance(worker.allocator.store, DynamoDBTicketStore)
        assert isinstance(worker.publisher, SNSPublisher)
        assert isinstance(worker.dead_letters, SQSDeadLetters)

    def test_bootstrap_uses_the_settings_it_is_given(self) -> None:
        """Names and limits arrive where they are used."""
        settings = Settings.from_environ(
            {
                "TICKETS_TABLE": "the-tickets",
                "IDEMPOTENCY_KEYS_TABLE": "the-keys",
                "ASSIGNMENTS_TOPIC_ARN": "the-topic",
                "DEAD_LETTER_QUEUE_URL": "the-queue",
                "MAX_ATTEMPTS": "7",
                "DEADLINE_RESERVE_SECONDS": "2.5",
                "IDEMPOTENCY_RETENTION_DAYS": "90",
            }
        )

        worker = bootstrap(settings)

        store = vars(worker.allocator.store)
        assert worker.allocator.max_attempts == 7
        assert worker.allocator.deadline_reserve == pytest.approx(2.5)
        assert store["_tickets_table"] == "the-tickets"
        assert store["_keys_table"] == "the-keys"
        assert store["_retention"].days == 90
        assert vars(worker.publisher)["_topic_arn"] == "the-topic"
        assert vars(worker.dead_letters)["_queue_url"] == "the-queue"

    def test_bootstrap_needs_the_environment(self) -> None:
        """A function without its settings does not start."""
        with pytest.raises(ValueError, match="TICKETS_TABLE"):
            bootstrap()

    @pytest.mark.parametrize("service", SERVICES)
    def test_bootstrap_follows_the_endpoint_of_the_environment(
        self, service: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same code talks to an emulator when the environment says so."""
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")

        client = clients(bootstrap(SETTINGS))[service]

        assert client.meta.endpoint_url == "http://127.0.0.1:4566"

    @pytest.mark.parametrize("service", SERVICES)
    def test_bootstrap_talks_to_aws_otherwise(self, service: str) -> None:
        """There is no local switch to forget."""
        client = clients(bootstrap(SETTINGS))[service]

        host = f"https://{service}.eu-west-1.amazonaws.com"
        assert client.meta.endpoint_url == host
