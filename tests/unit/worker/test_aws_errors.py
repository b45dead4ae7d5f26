"""Passing failures become transient errors; others propagate unchanged."""

from collections.abc import Iterable
from typing import Any

import pytest
from botocore.exceptions import (
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
from botocore.retries.standard import (
    ThrottledRetryableChecker,
    TransientRetryableChecker,
)

from tests.support.canned_aws import aws_client, client_error
from tests.support.worker_calls import clients_and_calls
from ticket_numbering.adapters.aws_errors import (
    code_of,
    is_rejection,
    member,
    passes,
    translated,
)
from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.errors import (
    StoreRefusedError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)

ENDPOINT = "https://dynamodb.eu-west-1.amazonaws.com"
TRANSLATED: list[tuple[Exception, type[TransientError]]] = [
    *(
        (error, StoreUnavailableError)
        for error in (
            ConnectTimeoutError(endpoint_url=ENDPOINT),
            ConnectionClosedError(endpoint_url=ENDPOINT),
            EndpointConnectionError(endpoint_url=ENDPOINT),
            HTTPClientError(error="reset"),
            ReadTimeoutError(endpoint_url=ENDPOINT),
            ResponseParserError("half an answer"),
            SSLError(endpoint_url=ENDPOINT, error=OSError("handshake")),
            UnicodeDecodeError(
                "utf-8", "\u2713".encode()[:1], 0, 1, "unexpected end of data"
            ),
            client_error("InternalServerError", 500),
        )
    ),
    # Longer delays help against these.
    (client_error("ProvisionedThroughputExceededException"), StoreThrottledError),
    (client_error("RequestLimitExceeded"), StoreThrottledError),
    (client_error("ThrottlingException"), StoreThrottledError),
    (client_error("AccessDeniedException"), StoreRefusedError),
    # A table with another key.
    (client_error("ValidationException"), StoreRefusedError),
]
LASTING: list[Exception] = [
    client_error("ConditionalCheckFailedException"),
    client_error("SomethingNew", 413),
    client_error("TransactionCanceledException"),
    NoCredentialsError(),
    ParamValidationError(report="bad"),
    ValueError("bug"),
]


PASSES, REJECTED, LASTS = (True, False), (False, True), (False, False)
PASSING = (408, 421, 429, 500, 502, 503, 504)
THROTTLING = ("Throttl", "ThroughputExceeded", "RequestLimit", "TransactionIn")
REJECTIONS = ("KMS", "Kms", "Auth", "Security", "Address", "NotFound", "NotExist")


def codes(words: Iterable[str]) -> set[str]:
    """Return the codes of our calls whose names hold one of the words."""
    _, calls = clients_and_calls()
    shapes = [
        shape
        for call in calls
        for shape in aws_client(call.service)
        .meta.service_model.operation_model(call.operation)
        .error_shapes
    ]
    return {
        shape.metadata.get("error", {}).get("code", shape.name)
        for shape in shapes
        if any(word in shape.name for word in words)
    }


class TestPasses:
    """Codes and statuses decide, texts never."""

    def test_passes_holds_for_every_throttling_code_of_our_calls(self) -> None:
        of_services = codes(THROTTLING)

        assert of_services
        assert [code for code in of_services if not passes(client_error(code))] == []

    def test_passes_holds_for_every_code_that_botocore_retries(self) -> None:
        """A bug has a stack trace, which would hide the cause from an operator."""
        of_botocore = {
            code
            for checker in (ThrottledRetryableChecker, TransientRetryableChecker)
            for name, listed in vars(checker).items()
            if isinstance(listed, list | tuple | set) and not name.startswith("__")
            for code in listed
            if isinstance(code, str)
        }

        assert of_botocore > {"RequestTimeout", "SlowDown"}
        assert of_botocore <= aws_codes.PASSING

    def test_every_code_of_a_missing_right_or_resource_is_a_rejection(self) -> None:
        rejected = codes(REJECTIONS) - codes(THROTTLING)

        assert rejected
        assert [code for code in rejected if not is_rejection(client_error(code))] == []

    @pytest.mark.parametrize(
        ("code", "status", "expected"),
        [
            # The references list these; a service's own model does not.
            ("AccessDeniedException", 403, REJECTED),
            ("AWS.SimpleQueueService.NonExistentQueue", 403, REJECTED),
            ("ExpiredTokenException", 403, REJECTED),
            ("KMS.DisabledException", 403, REJECTED),
            ("UnrecognizedClientException", 403, REJECTED),
            ("KMS.ThrottlingException", 400, PASSES),
            ("ThrottledException", 400, PASSES),
            ("RequestExpired", 400, PASSES),
            ("RequestAbortedException", 400, PASSES),
            # A signature that came too late; the next one is accepted.
            ("InvalidSignatureException", 403, PASSES),
            ("SignatureDoesNotMatch", 403, PASSES),
            # Of a service in trouble, or of an answer that botocore could not read.
            *[("SomethingNew", status, PASSES) for status in PASSING],
            ("400", 400, PASSES),
            # An unknown error is not assumed to pass.
            *[("SomethingNew", status, LASTS) for status in (400, 403, 404, 413, 499)],
        ],
    )
    def test_error_passes_or_is_a_rejection_by_code_and_status(
        self, code: str, status: int, expected: tuple[bool, bool]
    ) -> None:
        error = client_error(code, status)

        assert (passes(error), is_rejection(error)) == expected

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ({"Error": {"Code": "ThrottlingException"}}, True),
            ({"Error": {"Code": "ValidationException"}, "ResponseMetadata": {}}, False),
            # A proxy's page, which botocore takes for an error of AWS without a text.
            ({"ResponseMetadata": {"HTTPStatusCode": 403}}, True),
        ],
    )
    def test_passes_holds_or_not_when_code_or_status_is_missing(
        self, answer: Any, *, expected: bool
    ) -> None:
        assert passes(ClientError(answer, "Query")) is expected


def test_member_is_what_the_answer_has_or_an_error() -> None:
    """An answer that was cut off is no answer."""
    assert member({"Items": []}, "Items") == []
    with pytest.raises(ResponseParserError, match="the answer lacks Items"):
        member({}, "Items")


class TestTranslated:
    """Errors that pass are renamed, with their cause; others are left alone."""

    @pytest.mark.parametrize(("error", "kind"), TRANSLATED)
    def test_translated_names_action_and_code_when_a_retry_or_an_operator_helps(
        self, error: Exception, kind: type[TransientError]
    ) -> None:
        """The reason holds the code and not the service's text."""
        with pytest.raises(kind) as caught, translated("Query"):
            raise error

        assert type(caught.value) is kind
        assert str(caught.value) == f"Query: {code_of(error)}"
        assert caught.value.__cause__ is error

    @pytest.mark.parametrize("error", LASTING, ids=code_of)
    def test_translated_leaves_lasting_errors_and_bugs_alone(
        self, error: Exception
    ) -> None:
        with pytest.raises(type(error)) as caught, translated("Query"):
            raise error

        assert caught.value is error
