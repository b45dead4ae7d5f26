"""The checksum of an answer of DynamoDB; worker and command line compare alike."""

import json
from http import HTTPStatus
from typing import Any
from zlib import crc32


def is_damaged(answer: Any) -> bool:
    """Tell whether DynamoDB's answer does not fit the checksum in its headers.

    A checksum that is no number fits nothing. An emulator may send none; then a success
    must be JSON, for botocore takes a proxy's page for an empty answer.
    """
    checksum = answer.headers.get("x-amz-crc32")
    if checksum is not None:
        return bool(checksum.zfill(10) != f"{crc32(answer.content):010}")
    try:
        json.loads(answer.content)
    except ValueError:
        return bool(answer.status_code == HTTPStatus.OK)
    return False
