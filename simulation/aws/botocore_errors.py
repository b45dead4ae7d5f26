"""The errors that botocore raises for faults, and those that it retries."""

from typing import Final

from simulation.aws.service import ServiceError

ENDPOINT: Final = "https://simulated"


RETRIED_CODES: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)


RETRIED_STATUSES: Final = frozenset({500, 502, 503, 504})
"""What botocore's standard mode retries; botocore/retries/standard.py."""


def _is_retried(error: ServiceError) -> bool:
    """Return whether botocore's standard mode retries the error."""
    return error.code in RETRIED_CODES or error.status in RETRIED_STATUSES
