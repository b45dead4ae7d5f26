"""The clients' timeouts and attempts, and the longest call that they allow."""

from typing import Final

CONNECT_TIMEOUT_SECONDS: Final = 1
READ_TIMEOUT_SECONDS: Final = 3
"""botocore's defaults of 60 s would outlive the invocation."""

MAX_CALL_ATTEMPTS: Final = 2
"""The second absorbs a dropped connection; longer waits are the worker's business."""

MAX_RETRY_DELAY_SECONDS: Final = 1
"""Before the second attempt; botocore, `retries.standard.ExponentialBackoff`."""

LONGEST_CALL_SECONDS: Final = (
    MAX_CALL_ATTEMPTS * (CONNECT_TIMEOUT_SECONDS + READ_TIMEOUT_SECONDS)
    + MAX_RETRY_DELAY_SECONDS
)
"""Of a call whose attempts all run into their timeouts."""
