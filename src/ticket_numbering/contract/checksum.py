"""The checksum of a response of DynamoDB, for worker and command line."""

import json
from http import HTTPStatus
from typing import Any
from zlib import crc32


def is_damaged(answer: Any) -> bool:
    """Tell whether DynamoDB's response differs from the checksum in its headers.

    A malformed checksum always differs. An emulator may send none; then a success must
    be JSON, because botocore reads a proxy's page as an empty response.
    """
    checksum = answer.headers.get("x-amz-crc32")
    if checksum is not None:
        return bool(checksum.zfill(10) != f"{crc32(answer.content):010}")
    try:
        json.loads(answer.content)
    except ValueError:
        return bool(answer.status_code == HTTPStatus.OK)
    return False
