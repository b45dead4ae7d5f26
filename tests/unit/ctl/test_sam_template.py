"""The copy of the template that `sam local` uses, and how it is led there."""

import tomllib

from tests.support.paths import ROOT
from tests.support.template_loader import TEMPLATE
from ticketctl.local.connection_files import (
    BUILD,
    FUNCTION_FILE,
    TEMPLATE_FILE,
)


def test_plain_commands_build_invoke_and_deploy_in_one_folder() -> None:
    """`sam build` takes its own folder; a deployment of the source has no packages."""
    environments = tomllib.loads(TEMPLATE.with_name("samconfig.toml").read_text())
    invoke = environments["default"]["local_invoke"]["parameters"]
    built = {
        options[command]["parameters"]["template_file"]
        for options in environments.values()
        if isinstance(options, dict)
        for command in options.keys() & {"deploy", "package"}
    }

    assert "build_dir" not in environments["default"]["build"]["parameters"]
    assert ROOT / invoke["template_file"] == TEMPLATE_FILE
    assert ROOT / invoke["env_vars"] == FUNCTION_FILE
    assert {ROOT / path for path in built} == {BUILD / "template.yaml"}
