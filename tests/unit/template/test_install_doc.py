"""The snippets of `docs/install.md` fit the template that they deploy."""

import re
from pathlib import Path

import pytest

from tests.support.template_loader import parameters, source

TEXT = (Path(__file__).parents[3] / "docs" / "install.md").read_text(encoding="utf-8")
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
