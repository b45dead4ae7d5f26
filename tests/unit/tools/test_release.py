"""The files of a release fit one another, and the versions agree."""

import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from samtranslator.yaml_helper import yaml_parse

from tests.support.template_loader import (
    TEMPLATE,
    parameters,
    source,
    worker_as_written,
)
from ticket_numbering.worker.observability import Metric
from ticketctl import __version__
from tools.release import CODE_PARAMETERS, ROOT, problems, unreleased, write
from tools.translate import as_text, main, translate

BYTES_OF_A_REQUEST = 51_200
"""Of a TemplateBody; CloudFormation User Guide, "Understand CloudFormation quotas".

`aws cloudformation deploy` without a bucket and Terraform's `template_body` use it.
"""


class TestVersions:
    """A release has one version."""

    @pytest.mark.parametrize(
        ("name", "before"),
        [
            ("template.yaml", f"SemanticVersion: {__version__}"),
            ("CHANGELOG.md", f"## {__version__} - "),
        ],
    )
    def test_release_is_refused_when_a_file_has_another_version(
        self, tmp_path: Path, name: str, before: str
    ) -> None:
        for checked in ("template.yaml", "CHANGELOG.md"):
            shutil.copy(ROOT / checked, tmp_path)
        path = tmp_path / name
        other = before.replace(__version__, "9.9.9")
        path.write_text(path.read_text().replace(before, other))

        [problem] = problems(root=tmp_path)

        assert name in problem

    def test_release_is_refused_when_the_tag_is_another(self) -> None:
        assert not [*problems(f"v{__version__}")]
        assert [*problems("v9.9.9")]

    def test_release_is_refused_when_the_baseline_lacks_a_name(
        self, tmp_path: Path
    ) -> None:
        """The next release would not be compared with it."""
        shutil.copy(ROOT / "template.yaml", tmp_path)
        baseline = tmp_path / "docs" / "schemas" / "version-1.json"
        baseline.parent.mkdir(parents=True)
        names = {
            "parameters": [*parameters()],
            "outputs": [*source()["Outputs"]],
            "metrics": [*Metric],
        }
        baseline.write_text(json.dumps({"names": names}))
        assert not [*unreleased(tmp_path)]

        for kind, known in names.items():
            lacking = {"names": names | {kind: known[1:]}}
            baseline.write_text(json.dumps(lacking))
            assert [*unreleased(tmp_path)] == [
                f"version-1.json lacks the {kind} {known[0]}"
            ]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    wheel, function = folder / "x.whl", folder / "function"
    wheel.write_bytes(b"wheel")
    (function / "package").mkdir(parents=True)
    (function / "lambda_function.py").write_text("code")
    (function / "package" / "module.py").write_text("code")
    for path in function.rglob("*"):  # As under the umask 077.
        path.chmod(0o700)
    write(wheel, function, folder / "release")
    return folder / "release"


def test_metadata_is_as_the_serverless_application_repository_takes_it() -> None:
    """Its API reference has the pattern of an author, and the length."""
    metadata = source()["Metadata"]["AWS::ServerlessRepo::Application"]

    assert re.fullmatch("[a-z0-9](-?[a-z0-9]){0,126}", metadata["Author"])
    assert len(metadata["Description"]) <= 256
    assert all(
        (ROOT / metadata[f"{page}Url"]).is_file() for page in ("License", "Readme")
    )


class TestFiles:
    """The directory alone is enough to deploy."""

    def test_checksums_are_those_of_all_other_files(self, release: Path) -> None:
        files = [path for path in release.iterdir() if path.name != "SHA256SUMS"]

        lines = (release / "SHA256SUMS").read_text().splitlines()

        assert sorted(lines) == sorted(
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}"
            for path in files
        )
        assert "x.whl" in {path.name for path in files}

    def test_template_names_files_of_the_release(self, release: Path) -> None:
        [path] = release.glob("*.yaml")
        template = yaml_parse(path.read_text())

        metadata = template["Metadata"]["AWS::ServerlessRepo::Application"]
        assert (release / metadata["LicenseUrl"]).is_file()
        assert (release / metadata["ReadmeUrl"]).is_file()
        code = template["Resources"]["NumberingWorker"]["Properties"]["CodeUri"]
        entries = zipfile.ZipFile(release / code).infolist()
        rights = {
            entry.filename: entry.external_attr >> 16 & 0o055 for entry in entries
        }
        # Lambda reads it as another user.
        assert rights == {
            "package/": 0o055,
            "lambda_function.py": 0o044,
            "package/module.py": 0o044,
        }

    def test_translated_template_takes_its_code_from_parameters(
        self, release: Path
    ) -> None:
        [path] = release.glob("*-translated.json")
        template = json.loads(path.read_text())

        assert template["Parameters"].keys() >= CODE_PARAMETERS.keys()
        code = template["Resources"]["NumberingWorker"]["Properties"]["Code"]
        assert [*code.values()] == [{"Ref": name} for name in CODE_PARAMETERS]


def translated(template: dict[str, Any]) -> str:
    return as_text(translate(template, "true"))


@pytest.mark.parametrize("write_out", [yaml.safe_dump, translated])
def test_template_fits_a_request_when_its_parts_are_in_a_bucket(
    write_out: Callable[[Any], str],
) -> None:
    """As `sam package` writes it, without comments: it needs no bucket of its own."""
    address = f"s3://a-bucket-with-a-name-of-63-characters/ticket-numbering/{0:032}"
    template = worker_as_written(CodeUri=address)
    metadata = template["Metadata"]["AWS::ServerlessRepo::Application"]
    metadata |= {"LicenseUrl": address, "ReadmeUrl": address}

    size = len(write_out(template).encode())
    assert size <= BYTES_OF_A_REQUEST


@pytest.mark.parametrize(
    ("options", "value"), [((), "false"), (("--gradual",), "true")]
)
def test_template_needs_no_transform_and_takes_only_the_deployment_that_it_has(
    options: tuple[str, ...], value: str, tmp_path: Path
) -> None:
    """Tools that refuse transforms deploy the same stack."""
    packaged, translated = tmp_path / "packaged.yaml", tmp_path / "translated.json"
    text = TEMPLATE.read_text("utf-8").replace("src/", "s3://bucket/code")
    packaged.write_text(text, "utf-8")

    main(str(packaged), str(translated), *options)

    template = json.loads(translated.read_text("utf-8"))
    assert "Transform" not in template
    assert template["Parameters"].keys() == parameters().keys()
    assert template["Outputs"].keys() == source()["Outputs"].keys()
    rule = template["Parameters"]["GradualDeployment"]
    assert (rule["Default"], rule["AllowedValues"]) == (value, [value])
    kinds = {resource["Type"] for resource in template["Resources"].values()}
    assert not [kind for kind in kinds if kind.startswith("AWS::Serverless::")]
    assert ("AWS::CodeDeploy::DeploymentGroup" in kinds) is (value == "true")
