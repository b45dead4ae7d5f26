"""The files of a release fit one another, and the versions agree."""

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from samtranslator.yaml_helper import yaml_parse

from tools.release import CODE_PARAMETERS, ROOT, problems, version_of, write

VERSION = version_of()
CHECKED = ("ticketctl/__init__.py", "template.yaml", "CHANGELOG.md")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout that can be released."""
    for name in CHECKED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


class TestVersions:
    """A release has one version."""

    def test_release_is_well_when_its_tag_and_changelog_are(
        self, checkout: Path
    ) -> None:
        assert not [*problems(f"v{VERSION}", checkout)]

    @pytest.mark.parametrize(
        ("name", "before"),
        [
            ("template.yaml", f"SemanticVersion: {VERSION}"),
            ("CHANGELOG.md", f"## {VERSION} - "),
        ],
    )
    def test_release_is_refused_when_a_file_has_another_version(
        self, checkout: Path, name: str, before: str
    ) -> None:
        change(checkout / name, before, before.replace(VERSION, "9.9.9"))

        [problem] = problems("", checkout)

        assert name in problem

    def test_release_is_refused_when_the_tag_is_another(self, checkout: Path) -> None:
        assert [*problems("v9.9.9", checkout)]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release")
    wheel, function = folder / "x.whl", folder / "function"
    wheel.write_bytes(b"wheel")
    function.mkdir()
    (function / "lambda_function.py").write_text("code")
    write(wheel, function, folder / "release")
    return folder / "release"


class TestFiles:
    """Whoever has the directory can deploy from it."""

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
        assert zipfile.ZipFile(release / code).namelist() == ["lambda_function.py"]

    def test_translated_template_takes_its_code_from_parameters(
        self, release: Path
    ) -> None:
        [path] = release.glob("*-translated.json")
        template = json.loads(path.read_text())

        assert "Transform" not in template
        assert template["Parameters"].keys() >= CODE_PARAMETERS.keys()
        code = template["Resources"]["NumberingWorker"]["Properties"]["Code"]
        assert [*code.values()] == [{"Ref": name} for name in CODE_PARAMETERS]
