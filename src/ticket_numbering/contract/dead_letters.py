"""The message attributes that the worker adds to a dead letter.

`docs/on-call.md` describes them.
"""

from typing import Final

ERROR_TYPE: Final = "ErrorType"
ERROR_MESSAGE: Final = "ErrorMessage"
SOURCE_MESSAGE_ID: Final = "SourceMessageId"
SENT_TIMESTAMP: Final = "SentTimestamp"

REASON_ATTRIBUTES: Final = frozenset(
    {ERROR_TYPE, ERROR_MESSAGE, SOURCE_MESSAGE_ID, SENT_TIMESTAMP}
)
