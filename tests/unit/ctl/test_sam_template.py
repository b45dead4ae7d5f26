"""The copy of the built template that `sam local` uses."""

import json
from pathlib import Path

from tests.support.template_loader import TEMPLATE, source
from ticketctl.local.connection_files import architecture, write_local_template
from ticketctl.local.deployment import FUNCTION


def test_copy_alone_is_for_this_machine_and_declares_the_address_of_an_emulator(
    tmp_path: Path,
) -> None:
    built, copy = tmp_path / "template.yaml", tmp_path / "local.json"
    text = TEMPLATE.read_text(encoding="utf-8")
    built.write_text(text, encoding="utf-8")

    write_local_template(built, copy)

    assert built.read_text(encoding="utf-8") == text
    expected = json.loads(json.dumps(source(), default=str))
    function = expected["Resources"][FUNCTION]["Properties"]
    function["Environment"]["Variables"]["AWS_ENDPOINT_URL"] = ""
    expected["Parameters"]["Architecture"]["Default"] = architecture()
    assert json.loads(copy.read_text(encoding="utf-8")) == expected
