"""Makes the virtual environments of the `Makefile`, with uv.

pip installs uv alone, and uv installs everything else, with hashes.
uv ignores pip's settings, so it is given those that lead to packages.
Runs before there are any packages: it needs the standard library only.
"""

import ast
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ticketctl.cli.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]
BUILD_DIRECTORY = ROOT / ".build"
REQUIREMENTS_WITH_UV = ROOT / "requirements" / "dev.txt"
UV_ENVIRONMENT = ROOT / ".venv-uv"
LOG = BUILD_DIRECTORY / "install.log"

# The lists are of words in pip's settings; uv splits the places of files at commas.
# https://pip.pypa.io/en/stable/cli/pip_install/
# https://docs.astral.sh/uv/reference/environment/
_SEPARATORS = {"UV_FIND_LINKS": ","}
_VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
    "trusted-host": "UV_INSECURE_HOST",
}
# pip trusts the machine's certificates: a proxy may need one. And it takes a package
# from any index that has it; the hashes make that safe.
_AS_PIP = {"UV_SYSTEM_CERTS": "true", "UV_INDEX_STRATEGY": "unsafe-best-match"}
_BY_PRECEDENCE = ("global", "install", ":env:")


def make_environment(directory: Path, requirements: Path) -> None:
    """Install pinned packages, and nothing else, into a new environment.

    It has a copy of its requirements, `ready`, once it is complete.

    Raises:
        ToolError: The packages, or uv, could not be installed.
    """
    ready = directory / "ready"
    with _alone(directory.name):
        if ready.exists() and ready.read_bytes() == requirements.read_bytes():
            return  # Another process has just made it.
        print(f"setting up {directory} (once, some seconds)", file=sys.stderr)  # noqa: T201 - of make.
        _venv(directory, "--without-pip")
        uv("pip", "sync", "--require-hashes", "--python", directory, requirements)
        shutil.copyfile(requirements, ready)


def uv(*arguments: str | Path) -> None:
    """Run uv, with pip's settings where uv has none of its own.

    Raises:
        ToolError: uv failed, or could not be installed.
    """
    environment = os.environ | settings()
    command = (UV_ENVIRONMENT / "bin" / "uv", "--quiet", *arguments)
    failed = f"uv could not install {arguments[-1]}"
    _run(command, failed=failed, environment=environment)


def settings() -> dict[str, str]:
    """Return the variables that give pip's settings to uv.

    Raises:
        ToolError: uv could not be installed.
    """
    _install_uv()
    pip = (UV_ENVIRONMENT / "bin" / "python", "-m", "pip", "config", "list")
    listed = _run(pip, failed="pip does not tell its settings")
    return uv_variables(listed, os.environ)


def uv_variables(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that give uv the settings that `pip config list` prints.

    A variable that is set wins.
    """
    found = {**_AS_PIP}
    for section in _BY_PRECEDENCE:
        prefix = re.escape(section)
        for option, value in re.findall(rf"(?m)^{prefix}\.(.+?)=(.*)$", listed):
            if variable := _VARIABLES.get(option):
                words = ast.literal_eval(value).split()
                found[variable] = _SEPARATORS.get(variable, " ").join(words)
    return {name: value for name, value in found.items() if name not in environment}


def reason(output: str) -> str:
    """Return the cause of a failure from the output of pip or uv, in a line."""
    if causes := re.findall(r"^ +cause: (.+)$", output, re.MULTILINE):
        return ": ".join(dict.fromkeys((causes[0], causes[-1])))
    if broken := re.findall(r"connection broken by '(.+)': /", output):
        return str(re.sub(r".* object at \w+>: ", "", broken[-1])).rstrip("')")
    errors = re.findall(r"^error: (.+)$", output, re.MULTILINE | re.IGNORECASE)
    return next(iter((*errors, *output.strip().splitlines())), "no reason given")


def _install_uv() -> None:
    pinned = _pinned_uv()
    ready = UV_ENVIRONMENT / "ready"
    with _alone(UV_ENVIRONMENT.name):
        if ready.exists() and ready.read_text() == pinned:
            return
        _venv(UV_ENVIRONMENT)
        requirements = UV_ENVIRONMENT / "requirements.txt"
        requirements.write_text(pinned)
        pip = (UV_ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet")
        options = ("--disable-pip-version-check", "--require-hashes", "--no-deps")
        command = (*pip, *options, "--requirement", requirements)
        _run(command, failed="pip could not install uv")
        requirements.rename(ready)


def _pinned_uv() -> str:
    """Return the lines that pin uv, with its hashes."""
    text = REQUIREMENTS_WITH_UV.read_text()
    [lines] = re.findall(r"^uv==(?:.*\\\n)+.*\n", text, re.MULTILINE)
    return str(lines)


def _venv(directory: Path, *options: str) -> None:
    command = [sys.executable, "-m", "venv", "--clear", *options, str(directory)]
    _run(command, failed=f"Python could not make {directory}")


def _run(
    command: Sequence[str | Path],
    *,
    failed: str,
    environment: Mapping[str, str] | None = None,
) -> str:
    result = subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        command, check=False, capture_output=True, text=True, env=environment, cwd=ROOT
    )
    if result.returncode:
        output = result.stderr + result.stdout
        with LOG.open("a") as log:  # Another environment may have failed beside it.
            log.write(f"{shlex.join(map(str, command))}\n{output}")
        raise ToolError(f"{failed}: {reason(output)} (everything it said: {LOG})")
    return result.stdout


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Let other processes wait that make the same environment."""
    BUILD_DIRECTORY.mkdir(exist_ok=True)
    with (BUILD_DIRECTORY / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Make an environment: directory, requirements. Or print the settings for uv."""
    try:
        if sys.argv[1:]:
            make_environment(*map(Path, sys.argv[1:]))
        else:
            for name, value in settings().items():
                print(f"export {name}={shlex.quote(value)}")  # noqa: T201 - a shell reads it.
    except ToolError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
