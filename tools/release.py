"""Checks the versions of a release, and writes its files: `make release`.

    python -m tools.release check [TAG]
    python -m tools.release write WHEEL FUNCTION DIRECTORY

1. Set the version in `ticketctl/__init__.py` and `template.yaml`, and give it a heading
   with its date in `CHANGELOG.md`, below an empty Unreleased.
2. Add to `docs/schemas/version-1.json`, by hand, the release's additions to the
   contract, and change nothing else there: the next release is compared with it.
3. Run `.ci/run`; `make beside RELEASE=` with the tag before, which lets the workers of
   both number together; then `make release TAG=`, which checks that all of these agree.
4. Tag the commit `v` and the version, and push the tag: `release.yml` makes the same
   files from it, attests their origin, and keeps them for 90 days; store them too.
   `gh attestation verify FILE --repo OWNER/REPOSITORY` shows that it made a file.

Nothing is published. `CodeBucket` and `CodeKey` of the translated template say where
the zip file is. `SHA256SUMS` beside the files is no proof against their change.
"""

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from samtranslator.yaml_helper import yaml_parse

import ticketctl
from ticket_numbering.worker.observability import Metric
from tools.translate import as_text, translate

ROOT: Final = Path(__file__).parents[1]
NAME: Final = "ticket-numbering"
CODE: Final = "CodeUri: src/"
BESIDE: Final = ("LICENSE", "README.md")
"""The files that the template names for the Serverless Application Repository."""

CODE_PARAMETERS: Final = {
    "CodeBucket": "Bucket of the function's zip file, in the Region of the stack.",
    "CodeKey": "Key of the function's zip file.",
}


def problems(tag: str = "", root: Path = ROOT) -> Iterator[str]:
    """Yield the places with another version than the command line."""
    version = ticketctl.__version__
    metadata = _template(root)["Metadata"]["AWS::ServerlessRepo::Application"]
    if (declared := metadata["SemanticVersion"]) != version:
        yield f"template.yaml has the SemanticVersion {declared}, not {version}"
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no heading `## {version} - YYYY-MM-DD`"
    if tag and tag != f"v{version}":
        yield f"the tag is {tag}, not v{version}"


def unreleased(root: Path = ROOT) -> Iterator[str]:
    """Yield the names that the baseline of the contract lacks."""
    baseline = json.loads((root / "docs/schemas/version-1.json").read_bytes())["names"]
    template = _template(root)
    for kind, names in {
        "parameters": template["Parameters"],
        "outputs": template["Outputs"],
        "metrics": map(str, Metric),
    }.items():
        if new := sorted({*names} - {*baseline[kind]}):
            yield f"version-1.json lacks the {kind} {', '.join(new)}"


def write(wheel: Path, function: Path, directory: Path) -> None:
    """Write wheel, built function, both templates and their checksums.

    The directory of the release is emptied first.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    shutil.copy(wheel, directory)
    base = f"{NAME}-{ticketctl.__version__}"
    for path in (function, *function.rglob("*")):
        # Lambda reads as another user, under any umask of this machine.
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    shutil.make_archive(str(directory / base), "zip", function)
    source = (ROOT / "template.yaml").read_text(encoding="utf-8")
    packaged = source.replace(CODE, f"CodeUri: {base}.zip")
    (directory / f"{base}.yaml").write_text(packaged, encoding="utf-8")
    for name in BESIDE:
        shutil.copy(ROOT / name, directory)
    translated = directory / f"{base}-translated.json"
    translated.write_text(as_text(_translated()), encoding="utf-8")
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(directory.iterdir())
    ]
    (directory / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def _translated() -> dict[str, Any]:
    """Return the template without a transform, with parameters for its code."""
    template = _template()
    worker = template["Resources"]["NumberingWorker"]["Properties"]
    worker["CodeUri"] = {"Bucket": {"Ref": "CodeBucket"}, "Key": {"Ref": "CodeKey"}}
    template["Parameters"] |= {
        name: {"Type": "String", "MinLength": 1, "Description": text}
        for name, text in CODE_PARAMETERS.items()
    }
    return translate(template, "false")


def _template(root: Path = ROOT) -> dict[str, Any]:
    return dict(yaml_parse((root / "template.yaml").read_text(encoding="utf-8")))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "check":
        tag = "".join(arguments)
        sys.exit("\n".join([*problems(tag), *(unreleased() if tag else ())]) or None)
    write(*map(Path, arguments))
