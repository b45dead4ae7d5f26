"""What passes by itself becomes a transient error; anything else stays what it is."""

from collections.abc import Iterator

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from tests.support.canned_aws import aws_client
from tests.support.cases import cases
from ticket_numbering.aws_errors import (
    PASSING_CODES,
    code_of,
    member,
    passes,
    translated,
)
from ticket_numbering.errors import (
    StoreUnavailableError,
)

ENDPOINT = "https://dynamodb.eu-west-1.amazonaws.com"
UNANSWERED: list[Exception] = [
    ConnectTimeoutError(endpoint_url=ENDPOINT),
    ConnectionClosedError(endpoint_url=ENDPOINT),
    EndpointConnectionError(endpoint_url=ENDPOINT),
    HTTPClientError(error="reset"),
    ReadTimeoutError(endpoint_url=ENDPOINT),
    ResponseParserError("half an answer"),
    SSLError(endpoint_url=ENDPOINT, error=OSError("handshake")),
]
LASTING_CODES = [
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "ConditionalCheckFailedException",
    "ExpiredTokenException",
    "NotFound",
    "ResourceNotFoundException",
    "TransactionCanceledException",
    "UnrecognizedClientException",
    "ValidationException",
]


def client_error(code: str, status: int | None = 400) -> ClientError:
    """Return an error as botocore raises it."""
    metadata = {} if status is None else {"HTTPStatusCode": status}
    return ClientError(
        {
            "Error": {"Code": code, "Message": "text that nothing depends on"},
            "ResponseMetadata": metadata,  # type: ignore[typeddict-item]
        },
        "Query",
    )


def throttling_codes(service: str) -> Iterator[str]:
    """Return the codes of a service's model whose names speak of throttling."""
    for shape in aws_client(service).meta.service_model.error_shapes:
        words = ("Throttl", "ThroughputExceeded", "RequestLimit", "TransactionIn")
        if any(word in shape.name for word in words):
            yield shape.metadata.get("error", {}).get("code", shape.name)


class TestPasses:
    """Codes and statuses decide, texts never."""

    @pytest.mark.parametrize("code", sorted(PASSING_CODES))
    def test_passes_holds_for_throttling_codes(self, code: str) -> None:
        """The same request may succeed later."""
        assert passes(client_error(code))

    @pytest.mark.parametrize("service", ["dynamodb", "sns", "sqs"])
    def test_passes_holds_for_every_throttling_code_of_the_services(
        self, service: str
    ) -> None:
        """A code that a service's own model calls throttling is one of ours."""
        codes = list(throttling_codes(service))

        assert codes
        assert [code for code in codes if not passes(client_error(code))] == []

    @pytest.mark.parametrize(
        "code", ["KMS.ThrottlingException", "ThrottledException", "Throttling"]
    )
    def test_passes_holds_for_throttling_codes_that_no_model_names(
        self, code: str
    ) -> None:
        """The references list them; a service's own model does not."""
        assert passes(client_error(code))

    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_passes_holds_for_statuses_of_a_service_in_trouble(
        self, status: int
    ) -> None:
        """Whatever the code, known or not."""
        assert passes(client_error("SomethingNew", status))

    @pytest.mark.parametrize("code", LASTING_CODES)
    def test_passes_does_not_hold_for_lasting_errors(self, code: str) -> None:
        """Trying again would not help."""
        assert not passes(client_error(code))

    @pytest.mark.parametrize("status", [400, 403, 404, 413])
    def test_passes_does_not_hold_for_unknown_codes(self, status: int) -> None:
        """What we do not know is not assumed to pass."""
        assert not passes(client_error("SomethingNew", status))

    def test_passes_needs_no_status(self) -> None:
        """An error without metadata is told by its code."""
        assert passes(client_error("ThrottlingException", None))
        assert not passes(client_error("ValidationException", None))

    @pytest.mark.parametrize(
        ("code", "expected"),
        [("ThrottlingException", True), ("ValidationException", False)],
    )
    def test_passes_needs_no_metadata(self, code: str, *, expected: bool) -> None:
        """An error may be made without any, and then only its code counts."""
        error = ClientError({"Error": {"Code": code}}, "Query")

        assert passes(error) is expected


class TestMember:
    """An answer that was cut off is no answer."""

    def test_member_is_what_the_answer_has(self) -> None:
        """Even if that is nothing."""
        assert member({"Items": []}, "Items") == []

    def test_member_names_what_is_missing_when_the_answer_is_cut_off(self) -> None:
        """The reason ends up in the log."""
        with pytest.raises(ResponseParserError, match="the answer lacks Items"):
            member({}, "Items")


class TestTranslated:
    """Errors that pass are renamed, with their cause; others are left alone."""

    @pytest.mark.parametrize("error", UNANSWERED, ids=code_of)
    def test_translated_names_action_and_class_when_there_was_no_answer(
        self, error: Exception
    ) -> None:
        """The request may have taken effect: it is transient, and says so."""
        with (
            pytest.raises(StoreUnavailableError) as caught,
            translated("write of a block"),
        ):
            raise error

        assert str(caught.value) == f"write of a block: {type(error).__name__}"
        assert caught.value.__cause__ is error

    @pytest.mark.parametrize(
        "error",
        cases(
            {
                "throttled": client_error("ThrottlingException"),
                "failing": client_error("InternalServerError", 500),
            }
        ),
    )
    def test_translated_names_action_and_code_when_the_service_answered(
        self, error: ClientError
    ) -> None:
        """The reason holds the code and not the service's text."""
        with pytest.raises(StoreUnavailableError) as caught, translated("Query"):
            raise error

        assert str(caught.value) == f"Query: {code_of(error)}"
        assert caught.value.__cause__ is error

    @pytest.mark.parametrize("code", LASTING_CODES)
    def test_translated_leaves_lasting_errors_alone(self, code: str) -> None:
        """A missing permission shows as what it is."""
        error = client_error(code)

        with (
            pytest.raises(ClientError) as caught,
            translated("Query"),
        ):
            raise error

        assert caught.value is error

    @pytest.mark.parametrize(
        "error",
        [NoCredentialsError(), ParamValidationError(report="bad"), ValueError("bug")],
        ids=code_of,
    )
    def test_translated_leaves_our_own_mistakes_alone(
        self, error: BotoCoreError | ValueError
    ) -> None:
        """What was never sent is no trouble of the service."""
        with (
            pytest.raises(type(error)) as caught,
            translated("Query"),
        ):
            raise error

        assert caught.value is error

    def test_translated_does_nothing_when_nothing_fails(self) -> None:
        """A result passes."""
        with translated("Query"):
            result = 1

        assert result == 1
