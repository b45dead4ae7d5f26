"""Builds the zip file of the function: its pinned packages and its code.

Both have their bytecode beside them, so that no start of a worker compiles them.
botocore describes every AWS service in separate files, most of an artifact's size:
those that the worker does not use are removed.
The same input gives the same bytes.
The packages are installed once for each version of `src/requirements.txt`,
services and interpreter; the code is packed again every time.
"""

import hashlib
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from ticketctl.local import environments

ROOT = environments.ROOT
SOURCE = ROOT / "src"
BUILD_DIRECTORY = ROOT / ".build" / "worker"
EMULATOR_PYTHON = ROOT / ".venv-emulator" / "bin" / "python"
SERVICES = frozenset({"dynamodb", "sns", "sqs", "sts"})
"""The services that the worker calls, and the one for its credentials."""

# The oldest date of a zip file: real dates would change the bytes.
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o644 << 16
# The zip file travels over loopback only: packing faster beats packing smaller.
_FAST_COMPRESSION = 1

_COMPILE = ("-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")

_DESCRIBE_INTERPRETER = (
    "import sys, sysconfig; "
    "print(sys.implementation.cache_tag, sysconfig.get_platform())"
)


def build_artifact(
    *,
    source: Path = SOURCE,
    build_directory: Path = BUILD_DIRECTORY,
    python: Path = EMULATOR_PYTHON,
) -> Path:
    """Build the zip file that the function runs from, by its version of Python.

    Raises:
        ToolError: The interpreter is missing, or a requirement could not be
            installed.
    """
    build_directory.mkdir(parents=True, exist_ok=True)
    packages = _packed_requirements(source, build_directory, python)
    with tempfile.TemporaryDirectory(dir=build_directory) as scratch:
        unfinished = Path(scratch, "worker.zip")
        shutil.copyfile(packages, unfinished)
        code = Path(scratch, "code")
        shutil.copytree(source, code, ignore=shutil.ignore_patterns("__pycache__"))
        _compile(code, python)
        _pack(unfinished, code)
        # A rename is atomic: a build at the same time never reads half a file.
        return unfinished.replace(build_directory / "worker.zip")


def _packed_requirements(source: Path, build_directory: Path, python: Path) -> Path:
    requirements = source / "requirements.txt"
    described = environments.run(
        python, "-I", "-c", _DESCRIBE_INTERPRETER, failed=f"{python} does not run"
    )
    made_of = " ".join((described, *_COMPILE, *sorted(SERVICES)))
    digest = hashlib.sha256(requirements.read_bytes() + made_of.encode())
    packed = build_directory / f"packages-{digest.hexdigest()[:16]}.zip"
    if packed.exists():
        return packed
    with tempfile.TemporaryDirectory(dir=build_directory) as scratch:
        target = Path(scratch, "packages")
        install_packages(requirements, target, python)
        trim(target)
        _compile(target, python)
        unfinished = Path(scratch, packed.name)
        _pack(unfinished, target)
        return unfinished.replace(packed)


def trim(artifact: Path) -> None:
    """Remove the descriptions of other services, commands, and files of the build."""
    for path in artifact.glob("botocore/data/*"):
        if path.is_dir() and path.name not in SERVICES:
            shutil.rmtree(path)
    shutil.rmtree(artifact / "bin", ignore_errors=True)
    for name in (".lock", "requirements.txt"):
        (artifact / name).unlink(missing_ok=True)


def install_packages(requirements: Path, target: Path, python: Path) -> None:
    """Install into a directory; wheels only, so that nothing is compiled or run.

    Raises:
        ToolError: A requirement could not be installed.
    """
    options = ("--require-hashes", "--only-binary", ":all:", "--python", python)
    environments.uv(
        "pip", "install", *options, "--target", target, "--requirement", requirements
    )


def _compile(root: Path, python: Path) -> None:
    """Compile every module, without paths and times of this machine."""
    failed = f"{python} could not compile {root}"
    environments.run(python, "-I", *_COMPILE, "-s", root, root, failed=failed)


def _pack(archive: Path, root: Path) -> None:
    """Add every file below a directory, in a fixed order and form."""
    with zipfile.ZipFile(archive, "a") as target:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), _FIXED_DATE)
                entry.external_attr = _FILE_MODE
                entry.compress_type = zipfile.ZIP_DEFLATED
                target.writestr(
                    entry, path.read_bytes(), compresslevel=_FAST_COMPRESSION
                )


if __name__ == "__main__":
    trim(Path(sys.argv[1]))
