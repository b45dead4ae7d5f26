"""What `sam build` leaves: the artifact that ships. No container is needed for it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sam.conftest import BUILT, SAM, built_template, run_sam
from ticketctl.local.artifact import ROOT, SOURCE
from ticketctl.local.connection_files import architecture
from tools.trim import SERVICES, trim

# Measured on 2026-11-21: 17,072,386 bytes for x86_64, untrimmed 43 million.
# 20 % above it: a release of a dependency fits in, a new one is asked about.
MAX_BYTES = 20_500_000

PACKAGES = {
    "annotated_types",
    "aws_lambda_powertools",
    "boto3",
    "botocore",
    "dateutil",
    "jmespath",
    "pydantic",
    "pydantic_core",
    "s3transfer",
    "six.py",
    "ticket_numbering",
    "typing_extensions.py",
    "typing_inspection",
    "urllib3",
}

# The number of the processor in an ELF file's header, and where it stands.
MACHINES = {"x86_64": 62, "arm64": 183}
MACHINE_AT = slice(18, 20)
OTHER = {"x86_64": "arm64", "arm64": "x86_64"}
# How a wheel's file says it: the runtime's Python, and the processor.
SUFFIXES = {
    "x86_64": "cpython-313-x86_64-linux-gnu.so",
    "arm64": "cpython-313-aarch64-linux-gnu.so",
}


@pytest.fixture(scope="module")
def artifact() -> Path:
    """Return the folder that becomes the function's zip file."""
    return built_template().parent / "NumberingWorker"


@pytest.fixture(scope="module")
def other_artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build for the other processor, away from what `make build` left.

    No interpreter is in reach but the SAM CLI's own, and none may be fetched.
    """
    directory = tmp_path_factory.mktemp("other")
    processor = f"Architecture={OTHER[architecture()]}"
    command: list[str | Path] = ["build", "--parameter-overrides", processor]
    command += ["--template-file", ROOT / "template.yaml"]
    command += ["--config-file", ROOT / "samconfig.toml"]
    command += ["--build-dir", directory / "build", "--no-cached"]
    run_sam(*command, cwd=directory, PATH=str(SAM.parent), UV_PYTHON_DOWNLOADS="never")
    artifact = directory / "build" / "NumberingWorker"
    trim(artifact)
    return artifact


def size(directory: Path) -> int:
    """Return the bytes of all files, as Lambda counts an unpacked artifact."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def binaries(directory: Path) -> dict[str, int]:
    """Return each binary's name, and the number of the processor it is for."""
    return {
        path.name: int.from_bytes(path.read_bytes()[MACHINE_AT], "little")
        for path in directory.rglob("*.so*")
    }


def pins(requirements: Path) -> Iterator[str]:
    """Yield every pinned package as `name-version`, spelled as in a folder's name."""
    for name, version in re.findall(
        r"^([\w-]+)==([\w.]+)", requirements.read_text(encoding="utf-8"), re.MULTILINE
    ):
        yield f"{name.replace('-', '_')}-{version}"


class TestNothingButTheWorker:
    """The artifact holds the worker and its pinned packages, and nothing else."""

    def test_artifact_has_exactly_these_packages(self, artifact: Path) -> None:
        """A new name at the top level is a decision, not an accident."""
        names = {path.name for path in artifact.iterdir()}

        packages = {name for name in names if not name.endswith(".dist-info")}
        assert packages == PACKAGES

    def test_artifact_has_exactly_the_pinned_versions(self, artifact: Path) -> None:
        """Every package of `src/requirements.txt`, at its version."""
        versions = {path.name for path in artifact.glob("*.dist-info")}

        pinned = pins(SOURCE / "requirements.txt")
        assert versions == {f"{each}.dist-info" for each in pinned}

    def test_artifact_has_the_code_as_it_is(self, artifact: Path) -> None:
        """If this fails the build is an old one: `make build` makes it again."""
        built, written = (
            {
                path.relative_to(root): path.read_bytes()
                for path in (root / "ticket_numbering").rglob("*.py")
            }
            for root in (artifact, SOURCE)
        )

        assert built == written

    def test_artifact_has_no_tests_tools_or_caches(self, artifact: Path) -> None:
        """What only a developer needs stays here."""
        unwanted = {"tests", "test", "ticketctl", "ministack", "moto", "__pycache__"}
        found = {
            path.relative_to(artifact)
            for path in artifact.rglob("*")
            if path.name in unwanted or re.match(r"test_.*|conftest\.py", path.name)
        }

        # Example values, a documented module of that package.
        assert found <= {Path("annotated_types/test_cases.py")}

    def test_artifact_describes_only_the_services_that_are_called(
        self, artifact: Path
    ) -> None:
        """Of the hundreds of services that botocore knows."""
        data = artifact / "botocore" / "data"

        assert {path.name for path in data.iterdir() if path.is_dir()} == SERVICES

    def test_artifact_is_small(self, artifact: Path) -> None:
        """Lambda fetches all of it before a cold start."""
        assert 0 < size(artifact) <= MAX_BYTES


class TestRuntimesBinaries:
    """The binaries are the runtime's and the processor's, whatever runs here."""

    def test_binaries_are_for_this_processor(self, artifact: Path) -> None:
        """`make build` builds what a container runs here."""
        found = binaries(artifact)

        assert found
        assert set(found.values()) == {MACHINES[architecture()]}
        assert all(name.endswith(SUFFIXES[architecture()]) for name in found)

    def test_binaries_are_for_the_other_processor_when_asked_for(
        self, artifact: Path, other_artifact: Path
    ) -> None:
        """The same packages, without an interpreter of the function's version."""
        found, other = binaries(other_artifact), OTHER[architecture()]

        assert set(found.values()) == {MACHINES[other]}
        assert all(name.endswith(SUFFIXES[other]) for name in found)
        assert len(found) == len(binaries(artifact))
        assert {path.name for path in other_artifact.iterdir()} == {
            path.name for path in artifact.iterdir()
        }
        assert size(other_artifact) <= MAX_BYTES

    def test_build_elsewhere_leaves_the_build_here_alone(
        self, other_artifact: Path
    ) -> None:
        """The two processors' artifacts do not mix."""
        assert BUILT not in other_artifact.parents
        assert MACHINES[OTHER[architecture()]] not in binaries(BUILT).values()
