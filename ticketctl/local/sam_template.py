"""Writes a copy of the built template for `sam local`: `make build`.

The SAM CLI passes only those variables to the function that its template declares, and
the template that is deployed must not declare the address of an emulator.
"""

import json
from pathlib import Path
from typing import Final

from samtranslator.yaml_helper import yaml_parse

from ticketctl.local.artifact import ROOT
from ticketctl.local.deployment import FUNCTION

BUILD: Final = ROOT / ".build" / "sam"
"""Where `make build` has SAM build the function."""
LOCAL_TEMPLATE: Final = BUILD / "local.json"
ENDPOINT: Final = "AWS_ENDPOINT_URL"


def write_local_template(built: Path, copy: Path) -> None:
    """Write a copy of a template whose function has a variable for the address."""
    document = yaml_parse(built.read_text(encoding="utf-8"))
    function = document["Resources"][FUNCTION]["Properties"]
    function["Environment"]["Variables"][ENDPOINT] = ""
    # YAML reads an unquoted policy version as a date.
    copy.write_text(json.dumps(document, default=str), encoding="utf-8")


if __name__ == "__main__":
    write_local_template(BUILD / "template.yaml", LOCAL_TEMPLATE)
