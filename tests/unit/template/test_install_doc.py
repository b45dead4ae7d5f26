"""The snippets of `docs/install.md` fit the template that they deploy."""

import re
from pathlib import Path

import pytest

from tests.support.template_loader import parameters, source

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```(?:hcl|python)\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=["terraform", "cdk"])
def test_snippet_names_parameters_and_outputs_that_exist(snippet: str) -> None:
    [given] = re.findall(r"parameters *= *\{(.*?)\}", snippet, re.DOTALL)
    names = re.findall(r'"?(\w+)"? *[=:] *"', given)
    outputs = re.findall(r'[Oo]utputs(?:\["|\.)(\w+)', snippet)

    assert names
    assert outputs
    assert set(names) <= parameters().keys()
    assert set(outputs) <= source()["Outputs"].keys()


def test_metadata_is_as_the_serverless_application_repository_takes_it() -> None:
    """Its API reference has the pattern of an author, and the lengths."""
    metadata = source()["Metadata"]["AWS::ServerlessRepo::Application"]

    assert re.fullmatch("[a-z0-9](-?[a-z0-9]){0,126}", metadata["Author"])
    assert re.fullmatch("[a-zA-Z0-9-]{1,140}", metadata["Name"])
    assert len(metadata["Description"]) <= 256
    assert (ROOT / metadata["LicenseUrl"]).is_file()
    assert (ROOT / metadata["ReadmeUrl"]).is_file()
