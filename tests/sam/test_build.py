"""The artifact of `sam build`, which ships. It needs no container."""

import re
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from tests.sam.conftest import built_template
from tests.support.template_loader import source
from ticketctl.local.artifact import SERVICES, SOURCE
from ticketctl.local.connection_files import architecture

# Measured on 2026-11-21: 17,072,386 bytes for x86_64, untrimmed 43 million.
# 20 % above it: a release of a dependency fits in, a new one is asked about.
MAX_BYTES = 20_500_000

# CPython's `pycore_magic_number.h`, of the first release of a version on.
MAGIC_NUMBERS = {"python3.13": 3571}
# PEP 552: by a hash of the source that no import checks.
UNCHECKED_HASH = 0b01

# The number of the processor in an ELF file's header, and where it stands.
MACHINES = {"x86_64": 62, "arm64": 183}
MACHINE_AT = slice(18, 20)
# How a wheel's file says it: the runtime's Python, and the processor.
SUFFIXES = {
    "x86_64": "cpython-313-x86_64-linux-gnu.so",
    "arm64": "cpython-313-aarch64-linux-gnu.so",
}


@pytest.fixture(scope="module")
def artifact() -> Path:
    return built_template().parent / "NumberingWorker"


def binaries(directory: Path) -> dict[str, int]:
    """Return the number of the processor of every binary, by name."""
    return {
        path.name: int.from_bytes(path.read_bytes()[MACHINE_AT], "little")
        for path in directory.rglob("*.so*")
    }


def check_binaries(artifact: Path, processor: str) -> None:
    """Check that the binaries are the runtime's and this processor's."""
    machines = binaries(artifact)

    assert set(machines.values()) == {MACHINES[processor]}
    assert all(name.endswith(SUFFIXES[processor]) for name in machines)


def check_size(artifact: Path) -> None:
    """Check the bytes of all files but bytecode, which saves more than it takes."""
    files = [
        path for path in artifact.rglob("*") if path.is_file() and path.suffix != ".pyc"
    ]

    assert 0 < sum(path.stat().st_size for path in files) <= MAX_BYTES


def test_artifact_has_the_code_as_it_is_and_exactly_the_pinned_packages(
    artifact: Path,
) -> None:
    """If this fails the build may be an old one: `make build` makes it again."""
    requirements = (SOURCE / "requirements.txt").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w-]+)==([\w.]+)", requirements, re.MULTILINE)
    built, written = (
        {
            path.relative_to(root): path.read_bytes()
            for path in (root / "ticket_numbering").rglob("*.py")
        }
        for root in (artifact, SOURCE)
    )

    assert built == written
    assert {path.name for path in artifact.glob("*.dist-info")} == {
        f"{name.replace('-', '_')}-{version}.dist-info" for name, version in pins
    }


def test_artifact_has_the_bytecode_of_the_templates_runtime(artifact: Path) -> None:
    """Of all modules, or of none where that Python is missing, as `make build` says."""
    runtime = source()["Resources"]["NumberingWorker"]["Properties"]["Runtime"]
    modules = [*artifact.rglob("*.py")]
    compiled = [*artifact.rglob("*.pyc")]

    head = MAGIC_NUMBERS[runtime].to_bytes(2, "little") + b"\r\n"
    head += UNCHECKED_HASH.to_bytes(4, "little")
    tag = f".cpython-{runtime.removeprefix('python').replace('.', '')}.pyc"
    assert {path.read_bytes()[: len(head)] for path in compiled} <= {head}
    assert len(compiled) in {0, len(modules)}
    assert all(path.name.endswith(tag) for path in compiled)


def test_built_template_has_no_alias() -> None:
    """CloudFormation rejects aliases, and merges with them; SAM writes both out."""
    events = yaml.parse(built_template().read_text(encoding="utf-8"))

    assert not [event for event in events if isinstance(event, yaml.AliasEvent)]


def test_artifact_is_small_and_without_what_only_a_developer_needs(
    artifact: Path,
) -> None:
    """Of botocore's hundreds of services it describes those that are called."""
    unwanted = re.compile(r"tests?|ticketctl|ministack|moto|test_.*\.py")
    data = artifact / "botocore" / "data"

    check_size(artifact)
    check_binaries(artifact, architecture())
    paths = [path for path in artifact.rglob("*") if unwanted.fullmatch(path.name)]
    # Example values, a documented module of that package.
    assert {path.name for path in paths} <= {"test_cases.py"}
    assert {path.name for path in data.iterdir() if path.is_dir()} == SERVICES
