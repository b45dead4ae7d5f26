"""Applies the SAM transform to a packaged template, for tools that refuse transforms.

    python -m tools.translate packaged.yaml translated.json [--gradual]

The transform decides on gradual deployments, so the result has them or lacks them,
for all parameters; it rejects the other value.
"""

import json
import sys
from pathlib import Path
from typing import Any

from boto3.session import Session
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse


def translate(template: dict[str, Any], gradual_deployment: str) -> dict[str, Any]:
    """Return the template after the transform, with its decisions fixed."""
    # The Region decides only the partition; without one the transform fails.
    session = Session(region_name="eu-west-1")
    translator = Translator(None, Parser(), boto_session=session)
    values = {"GradualDeployment": gradual_deployment}
    translated: dict[str, Any] = translator.translate(template, values)
    translated.pop("Transform", None)
    choice = {"Default": gradual_deployment, "AllowedValues": [gradual_deployment]}
    translated["Parameters"]["GradualDeployment"] |= choice
    return translated


def as_text(translated: dict[str, Any]) -> str:
    """Return a template without blanks, because callers may take only 51,200 bytes."""
    # YAML reads an unquoted policy version as a date.
    return json.dumps(translated, default=str, separators=(",", ":")) + "\n"


def main(packaged: str, translated: str, gradual: str = "") -> None:
    """Write the translated template."""
    template = yaml_parse(Path(packaged).read_text(encoding="utf-8"))
    result = translate(template, "true" if gradual == "--gradual" else "false")
    Path(translated).write_text(as_text(result), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
