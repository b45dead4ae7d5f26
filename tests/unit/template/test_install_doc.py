"""The examples of `docs/install.md` fit the template that they deploy."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.markdown_commands import EXAMPLES, ROOT
from tests.support.template_loader import (
    TEMPLATE,
    parameters,
    source,
    worker_as_written,
)
from tools.translate import as_text, main, translate

BYTES_OF_A_REQUEST = 51_200
"""Of a TemplateBody; CloudFormation User Guide, "Understand CloudFormation quotas".

`aws cloudformation deploy` without a bucket and Terraform's `template_body` use it.
"""


@pytest.mark.parametrize("name", ["stack.tf", "cdk_app.py"])
def test_example_names_parameters_and_outputs_that_exist(name: str) -> None:
    snippet = (EXAMPLES / name).read_text(encoding="utf-8")
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


ADDRESS = "s3://a-bucket-with-a-name-of-63-characters/ticket-numbering/" + "0" * 32


class TestSize:
    """The stack can be deployed where no bucket is at hand."""

    @staticmethod
    def packaged() -> dict[str, Any]:
        """Return what `sam package` writes, as YAML without comments."""
        template = worker_as_written(CodeUri=ADDRESS)
        metadata = template["Metadata"]["AWS::ServerlessRepo::Application"]
        metadata |= {"LicenseUrl": ADDRESS, "ReadmeUrl": ADDRESS}
        return template

    def test_packaged_template_fits_a_request(self) -> None:
        text = yaml.safe_dump(self.packaged())

        assert len(text.encode()) <= BYTES_OF_A_REQUEST

    @pytest.mark.parametrize("gradual", ["false", "true"])
    def test_translated_template_fits_a_request(self, gradual: str) -> None:
        text = as_text(translate(self.packaged(), gradual))

        assert len(text.encode()) <= BYTES_OF_A_REQUEST


class TestTranslatedTemplate:
    """Tools that refuse transforms deploy the same stack."""

    @staticmethod
    def written(folder: Path, *options: str) -> dict[str, Any]:
        packaged, translated = folder / "packaged.yaml", folder / "translated.json"
        packaged.write_text(
            TEMPLATE.read_text("utf-8").replace("src/", "s3://bucket/code"), "utf-8"
        )
        main(str(packaged), str(translated), *options)
        found: dict[str, Any] = json.loads(translated.read_text("utf-8"))
        return found

    def test_template_needs_no_transform(self, tmp_path: Path) -> None:
        found = self.written(tmp_path)

        assert "Transform" not in found
        kinds = {resource["Type"] for resource in found["Resources"].values()}
        assert not [kind for kind in kinds if kind.startswith("AWS::Serverless::")]
        assert found["Parameters"].keys() == parameters().keys()
        assert found["Outputs"].keys() == source()["Outputs"].keys()

    @pytest.mark.parametrize(
        ("options", "value"), [((), "false"), (("--gradual",), "true")]
    )
    def test_template_takes_only_the_deployment_that_it_has(
        self, options: tuple[str, ...], value: str, tmp_path: Path
    ) -> None:
        found = self.written(tmp_path, *options)

        rule = found["Parameters"]["GradualDeployment"]
        assert (rule["Default"], rule["AllowedValues"]) == (value, [value])
        kinds = {resource["Type"] for resource in found["Resources"].values()}
        assert ("AWS::CodeDeploy::DeploymentGroup" in kinds) is (value == "true")
