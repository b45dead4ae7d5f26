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
from collections.abc import Mapping
from pathlib import Path

from ticketctl.cli.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]
UV_ENVIRONMENT = ROOT / ".venv-uv"
_BUILD = ROOT / ".build"
LOG = _BUILD / "install.log"

# https://pip.pypa.io/en/stable/cli/pip_install/
# https://docs.astral.sh/uv/reference/environment/
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
_SETTINGS = "pip does not tell its settings"
# Where pip installs to, which is the environment, not a machine's preference.
_PLACES = ("user", "target", "prefix", "root", "dry-run")
_AS_PIP = {"UV_SYSTEM_CERTS": "true", "UV_INDEX_STRATEGY": "unsafe-best-match"}


def make_environment(directory: Path, requirements: Path) -> None:
    """Install pinned packages, and nothing else, into a new environment.

    It has a copy of its requirements, `ready`, once it is complete.

    Raises:
        ToolError: The packages could not be installed.
    """
    ready, python = directory / "ready", directory / "bin" / "python"
    _BUILD.mkdir(exist_ok=True)
    with (_BUILD / f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _is_complete(directory, requirements):
            return  # Another process has just made it.
        print(f"setting up {directory} (once, some seconds)", file=sys.stderr)  # noqa: T201 - of make.
        venv = sys.executable, "-m", "venv", "--clear"
        made = f"Python could not make {directory}"
        if directory.name == UV_ENVIRONMENT.name:
            run(*venv, directory, failed=made)
            pip = python, "-m", "pip"
            options = "--quiet", "--require-hashes", "--disable-pip-version-check"
            variables = pip_variables(run(*pip, "config", "list", failed=_SETTINGS))
            install = *pip, "install", *options, "--requirement", requirements
            run(*install, failed="pip could not install uv", **variables)
        else:
            run(*venv, "--without-pip", directory, failed=made)
            uv("pip", "sync", "--require-hashes", "--python", directory, requirements)
        shutil.copyfile(requirements, ready)


def uv(*arguments: str | Path) -> None:
    """Run uv, with pip's settings where uv has none of its own.

    Raises:
        ToolError: uv failed, or is not installed.
    """
    command = UV_ENVIRONMENT / "bin" / "uv", "--quiet", *arguments
    run(*command, failed=f"uv could not install {arguments[-1]}", **settings())


def settings() -> dict[str, str]:
    """Return the variables that give pip's settings to uv.

    Raises:
        ToolError: uv is not installed.
    """
    pip = UV_ENVIRONMENT / "bin" / "python", "-m", "pip", "config", "list"
    return uv_variables(run(*pip, failed=_SETTINGS), os.environ)


def _is_complete(directory: Path, requirements: Path) -> bool:
    """Tell whether it has the requirements, and was made where it is."""
    ready, made = directory / "ready", directory / "pyvenv.cfg"
    return (
        ready.exists()
        and ready.read_bytes() == requirements.read_bytes()
        and f" {directory.absolute()}" in made.read_text(encoding="utf-8")
    )


def pip_variables(listed: str) -> dict[str, str]:
    """Return the variables for pip: the settings that `pip config list` prints.

    But for the places that it installs to: an empty variable is none.
    """
    settings = _settings(listed).items()
    variables = {_variable(option): " ".join(values) for option, values in settings}
    variables |= dict.fromkeys(map(_variable, _PLACES), "")
    return variables | {"PIP_CONFIG_FILE": os.devnull}


def _variable(option: str) -> str:
    return f"PIP_{option.upper().replace('-', '_')}"


def _settings(listed: str) -> dict[str, list[str]]:
    """Return the values of each option for an installation."""
    settings: dict[str, list[str]] = {}
    for section in ("global", "install", ":env:"):  # The last one wins.
        for option, value in re.findall(rf"(?m)^{section}\.(.+?)=(.*)$", listed):
            settings[option] = str(ast.literal_eval(value)).split()
    return settings


def uv_variables(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that give uv the settings that `pip config list` prints.

    A variable that is set wins.
    """
    settings = {**_AS_PIP}
    for option, values in _settings(listed).items():
        if variable := _VARIABLES.get(option):
            # uv splits the places of files at commas, and all else as pip does.
            separator = "," if option == "find-links" else " "
            settings[variable] = separator.join(values)
    return {name: value for name, value in settings.items() if name not in environment}


def reason(output: str) -> str:
    """Return the cause of a failure from the output of pip or uv, in a line."""
    if causes := re.findall(r"^ +cause: (.+)$", output, re.MULTILINE):
        return ": ".join(dict.fromkeys((causes[0], causes[-1])))
    if broken := re.findall(r"connection broken by '(.+)': /", output):
        return str(re.sub(r".* object at \w+>: ", "", broken[-1])).rstrip("')")
    errors = re.findall(r"^error: (.+)$", output, re.MULTILINE | re.IGNORECASE)
    return next(iter((*errors, *output.strip().splitlines())), "no reason given")


def run(*command: str | Path, failed: str, **variables: str) -> str:
    """Run a program with these variables, too; return its output.

    Raises:
        ToolError: It failed, with these words before its own, or it is not installed.
    """
    if not Path(command[0]).exists():
        raise ToolError(f"There is no {command[0]}: `make setup` installs it.")
    result = subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        command,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | variables,
        cwd=ROOT,
    )
    if result.returncode:
        output = result.stderr + result.stdout
        with LOG.open("a") as log:  # Another environment may have failed beside it.
            log.write(f"{shlex.join(map(str, command))}\n{output}")
        raise ToolError(f"{failed}: {reason(output)} (everything it said: {LOG})")
    return result.stdout


if __name__ == "__main__":
    try:
        if sys.argv[1:]:
            make_environment(*map(Path, sys.argv[1:]))
        else:
            for name, value in settings().items():
                print(f"export {name}={shlex.quote(value)}")  # noqa: T201 - a shell reads it.
    except ToolError as error:
        sys.exit(str(error))
    except OSError as error:
        hint = "can the checkout be written?"
        sys.exit(f"{error.filename}: {error.strerror}; {hint}")
