"""A stack of one run: the built template, but nothing of it outlives the stack."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import boto3
from samtranslator.yaml_helper import yaml_parse

from tests.aws.tables import named_if_left
from ticketctl.aws.stack import Stack, find_stack
from ticketctl.local.deployment import FUNCTION, create_stack
from tools.translate import as_text

CODE: Final = "code.zip"
_WAIT: Final = {"Delay": 3, "MaxAttempts": 400}
"""For twenty minutes; a creation or a deletion takes a few."""
_NO_LOCATION: Final = "us-east-1"
"""CreateBucket: LocationConstraint."""


@contextmanager
def temporary_stack(name: str, build: Path) -> Iterator[Stack]:
    """Deploy a build of `make package`, and delete all of it however the block ends."""
    session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
    cloudformation, s3 = session.client("cloudformation"), session.client("s3")
    body = _disposable(build / "template.yaml", f"s3://{name}/{CODE}")
    with ExitStack() as exits:
        # Before the calls: an answer may be lost, or Ctrl-C come first.
        exits.callback(_delete_bucket, s3, name)
        _upload(s3, name, build / FUNCTION)
        exits.callback(_delete_stack, cloudformation, name)
        create_stack(cloudformation, name, body, {}, _WAIT)
        yield find_stack(name, session.region_name, None)


def _disposable(template: Path, code: str) -> str:
    """Return the template without what keeps data when the stack is deleted."""
    document = yaml_parse(template.read_text(encoding="utf-8"))
    for resource in document["Resources"].values():
        resource.pop("DeletionPolicy", None)
        resource["Properties"].pop("DeletionProtectionEnabled", None)
    document["Resources"][FUNCTION]["Properties"]["CodeUri"] = code
    return as_text(document)


def _upload(s3: Any, bucket: str, function: Path) -> None:
    region = s3.meta.region_name
    place = {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=bucket, **({} if region == _NO_LOCATION else place))
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(shutil.make_archive(f"{directory}/code", "zip", function))
        s3.put_object(Bucket=bucket, Key=CODE, Body=archive.read_bytes())


def _delete_bucket(s3: Any, bucket: str) -> None:
    with (
        named_if_left(f"aws s3 rb --force s3://{bucket}"),
        suppress(s3.exceptions.NoSuchBucket),
    ):
        s3.delete_object(Bucket=bucket, Key=CODE)
        s3.delete_bucket(Bucket=bucket)


def _delete_stack(cloudformation: Any, name: str) -> None:
    with named_if_left(f"aws cloudformation delete-stack --stack-name {name}"):
        cloudformation.delete_stack(StackName=name)
        waiter = cloudformation.get_waiter("stack_delete_complete")
        waiter.wait(StackName=name, WaiterConfig=_WAIT)
