"""The settings and the failures of package installation."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.paths import ROOT
from ticketctl.cli.errors import ToolError
from ticketctl.local.artifact import build_artifact
from ticketctl.local.emulator import running_emulator
from ticketctl.local.environments import pip_variables, reason, uv_variables

LISTED: Final = """\
:env:.find-links='/wheels https://example.org/wheels'
:env:.disable-pip-version-check='1'
global.cert='/etc/certificates.pem'
global.client-cert='/etc/client.pem'
global.proxy='http://proxy.example.org:3128'
global.trusted-host='one.example.org\\ntwo.example.org'
global.extra-index-url='file:///one/simple\\nfile:///two/simple'
global.find-links='/elsewhere'
global.index-url='https://example.org/simple'
install.index-url='https://example.org/install/simple'
list.index-url='https://example.org/list/simple'
"""


PIP_WITHOUT_NETWORK: Final = """\
WARNING: Retrying (Retry(total=0)) after connection broken by \
'NewConnectionError('<a.Connection object at 0x7f>: Name resolution failed')': /uv/
ERROR: Could not find a version that satisfies uv
"""
PIP_WITHOUT_PACKAGE: Final = """\
ERROR: Could not find a version that satisfies uv
ERROR: No matching distribution found for uv
"""
UV_WITHOUT_NETWORK: Final = """\
error: Request failed after 3 retries in 4.5s
  cause: Failed to fetch: /rich/
  cause: client error (Connect)
  cause: Name resolution failed
"""
UV_WITH_ANOTHER_FILE: Final = """\
error: Failed to download `idna==3.10`
  cause: Hash mismatch for `idna==3.10`

         Expected:
           sha256:00
"""
OF_PYTHON: Final = "ensurepip is not available.\n\nInstall it.\n"


class TestSettings:
    """uv finds packages where pip does, and pip installs into the environment."""

    def test_places_to_install_to_are_left_out_and_all_else_is_kept(self) -> None:
        listed = "global.user='true'\n:env:.target='/t'\ninstall.prefix='/p'\n"
        listed += ":env:.config-file='/etc/pip.conf'\n"

        variables = pip_variables(listed + "global.dry-run='1'\n" + LISTED)

        places = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_DRY_RUN"}
        assert {variables[name] for name in places} == {""}
        assert variables["PIP_CONFIG_FILE"] == os.devnull
        assert variables["PIP_INDEX_URL"] == "https://example.org/install/simple"
        assert variables["PIP_TRUSTED_HOST"] == "one.example.org two.example.org"

    def test_settings_of_pip_are_handed_over_when_uv_has_none(self) -> None:
        """A variable of pip's wins over its files, and `install` over all commands."""
        assert uv_variables(LISTED, {}) == {
            "UV_DEFAULT_INDEX": "https://example.org/install/simple",
            "UV_INDEX": "file:///one/simple file:///two/simple",
            **uv_variables("", {}),
            "UV_FIND_LINKS": "/wheels,https://example.org/wheels",
            "SSL_CERT_FILE": "/etc/certificates.pem",
            "SSL_CLIENT_CERT": "/etc/client.pem",
            "ALL_PROXY": "http://proxy.example.org:3128",
            "UV_INSECURE_HOST": "one.example.org two.example.org",
        }

    def test_setting_of_uv_stays_when_it_has_one(self) -> None:
        variables = uv_variables(LISTED, {"UV_DEFAULT_INDEX": "https://example.org"})

        assert "UV_DEFAULT_INDEX" not in variables
        assert "UV_INDEX" in variables

    def test_uv_does_as_pip_does_when_pip_has_no_settings(self) -> None:
        """It trusts the machine's certificates, and takes the best of all indexes."""
        assert uv_variables("", {}) == {
            "UV_SYSTEM_CERTS": "true",
            "UV_INDEX_STRATEGY": "unsafe-best-match",
        }


class TestReason:
    """A failure has its cause in a line, for either of the two."""

    @pytest.mark.parametrize(
        ("output", "expected"),
        [
            (PIP_WITHOUT_NETWORK, "Name resolution failed"),
            (PIP_WITHOUT_PACKAGE, "Could not find a version that satisfies uv"),
            (UV_WITHOUT_NETWORK, "Failed to fetch: /rich/: Name resolution failed"),
            (UV_WITH_ANOTHER_FILE, "Hash mismatch for `idna==3.10`"),
            (OF_PYTHON, "ensurepip is not available."),
            ("", "no reason given"),
        ],
        ids=["pip", "pip's index", "uv", "uv's hash", "python", "silence"],
    )
    def test_reason_is_the_cause_when_tools_say_more(
        self, output: str, expected: str
    ) -> None:
        assert reason(output) == expected

    def test_failure_is_one_line_when_the_checkout_cannot_be_written(
        self, tmp_path: Path
    ) -> None:
        for name in ("__init__", "cli/__init__", "cli/errors", "local/environments"):
            copy = tmp_path / "ticketctl" / f"{name}.py"
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes((ROOT / "ticketctl" / f"{name}.py").read_bytes())
        build = tmp_path / ".build"
        build.touch()  # For root can write everywhere.
        program = sys.executable, "-m", "ticketctl.local.environments"

        ended = subprocess.run(  # noqa: S603 - our own program.
            [*program, ".venv", "packages.txt"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            text=True,
        )

        assert ended.returncode == 1
        assert ended.stderr == f"{build}: File exists; can the checkout be written?\n"

    def test_set_up_step_is_named_when_an_interpreter_is_missing(
        self, tmp_path: Path
    ) -> None:
        missing = tmp_path / "python"

        with pytest.raises(ToolError, match="make setup"):
            build_artifact(build_directory=tmp_path, python=missing)
        with pytest.raises(ToolError, match="make setup"), running_emulator(missing):
            pytest.fail("started")
