"""An edited dead letter is one that the worker accepts, and its text is never lost."""

import io
import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.builders import ticket_fields
from tests.support.dead_letter_queue import Keys, Site, Sqs, dead_letter, refusal
from ticketctl.cli.errors import CloudError, InputError
from ticketctl.commands.dead_letters import edit
from ticketctl.dead_letters.views import laid_out

ACCEPTED = json.dumps(ticket_fields("PROJ", "k-1"))
OTHER = json.dumps(ticket_fields("PROJ", "k-1", title="Another"))

Editor = Callable[[str], None]


@pytest.fixture
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Editor:
    """Return a function that sets an editor: Python code that replaces `text`."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def set_editor(code: str) -> None:
        script = tmp_path / "an editor.py"
        script.write_text(
            "import pathlib, sys\n"
            "path = pathlib.Path(sys.argv[1])\n"
            f"text = path.read_text()\n{code}\npath.write_text(text)\n"
        )
        monkeypatch.setenv("VISUAL", shlex.join([sys.executable, str(script)]))

    return set_editor


def kept_texts(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.glob("*.json")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"a":"ü","b":[1]}', '{\n  "a": "ü",\n  "b": [\n    1\n  ]\n}'),
        (r'{"a":"\ud800 ü"}', '{\n  "a": "\\ud800 ü"\n}'),
        *[
            (body, body)
            for body in (
                "{nonsense",
                "7",
                '{"a": 1, "a": 2}',
                f'{{"a": {"9" * 5000}}}',
                "[" * 50_000,
            )
        ],
    ],
    ids=lambda body: body[:20],
)
def test_body_is_laid_out_when_nothing_of_it_gets_lost(
    body: str, expected: str
) -> None:
    assert laid_out(body) == expected


class Typing(io.StringIO):
    """A body that takes a person long to write."""

    meanwhile: Callable[[], None]

    def read(self, size: int | None = -1) -> str:
        """Let something happen, and return the body."""
        self.meanwhile()
        return super().read(size)


def typed(body: str, meanwhile: Callable[[], None] = lambda: None) -> Any:
    """Return a file with a new body, and let something happen before it is read."""
    typing = Typing(body)
    typing.meanwhile = meanwhile
    return typing


class TestNewBody:
    """Nothing is sent that the worker would refuse, or that changes nothing."""

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            ("{}", "nothing was sent: .*title"),
            (laid_out(ACCEPTED), "unchanged"),
            (f" {ACCEPTED}\n", "unchanged"),
            (b"\xff", "not UTF-8"),
        ],
    )
    def test_text_is_refused_when_it_is_of_no_use(
        self, body: str | bytes, reason: str
    ) -> None:
        sqs = Sqs([found := dead_letter(body=ACCEPTED)])
        raw = body if isinstance(body, bytes) else body.encode()
        file: Any = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")

        with pytest.raises(InputError, match=reason):
            edit(Site(sqs).context, sqs.ids[0], body=file)

        assert sqs.sent == []
        assert sqs.dead_letters == [found]

    def test_text_is_refused_when_the_stack_does_not_allow_its_project(self) -> None:
        site = Site(Sqs([dead_letter(body="{")]))
        outputs = {**site.outputs, "AllowedProjects": "WEB"}

        with pytest.raises(InputError, match=r"nothing was sent: .* AllowedProjects"):
            edit(
                replace(site, outputs=outputs).context,
                site.sqs.ids[0],
                body=typed(ACCEPTED),
            )

        assert site.sqs.sent == []

    def test_key_is_new_and_named_when_one_is_wanted(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        sqs = Sqs([dead_letter(body=OTHER), dead_letter(body=OTHER)])

        for message_id, body in zip(sqs.ids, (typed(OTHER), None), strict=True):
            edit(Site(sqs).context, message_id, body=body, new_key=True)

        keys = {json.loads(body)["idempotency_key"] for body in sqs.bodies}
        assert len(keys - {"k-1"}) == 2
        assert {
            line.split()[-1] for line in capsys.readouterr().out.splitlines()
        } == keys


class TestEdited:
    """The new body takes the dead letter's place, or nothing happens."""

    def test_no_text_is_kept_when_it_was_sent(
        self, editor: Editor, tmp_path: Path
    ) -> None:
        sqs = Sqs([dead_letter(body="{")])
        editor(f"text = {ACCEPTED!r}")

        edit(Site(sqs).context, sqs.ids[0])

        assert len(sqs.sent) == 1
        assert kept_texts(tmp_path) == []

    def test_new_body_is_sent_when_only_its_cap_is_raised(self) -> None:
        """The cap is no part of the ticket, and the reason of the refusal."""
        capped, raised = (
            json.dumps(ticket_fields("PROJ", "k-1", max_number=cap)) for cap in (5, 50)
        )
        sqs = Sqs([dead_letter(body=capped, ErrorType="SequenceFullError")])

        edit(Site(sqs).context, sqs.ids[0], body=typed(raised))

        assert [json.loads(body)["max_number"] for body in sqs.bodies] == [50]

    @pytest.mark.parametrize(
        ("code", "error"),
        [
            ("text += '!'", InputError),
            ("path.write_text(text + '!')\nraise SystemExit(1)", InputError),
            (f"text = {ACCEPTED!r}", ClientError),
        ],
        ids=["a wrong text", "the editor fails", "SQS refuses"],
    )
    def test_text_is_kept_when_it_was_not_sent(
        self,
        editor: Editor,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        code: str,
        error: type[Exception],
    ) -> None:
        sqs = Sqs([found := dead_letter(body="{")], refused={"send": refusal()})
        editor(code)

        with pytest.raises(error):
            edit(Site(sqs).context, found.message_id)

        [kept] = kept_texts(tmp_path)
        assert kept.startswith("{")
        assert "your text is kept in " in capsys.readouterr().err
        assert sqs.dead_letters == [found]

    @pytest.mark.parametrize("command", ["no-such-editor -w", "'", ""])
    def test_edit_is_refused_when_there_is_no_editor(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setenv("VISUAL", command)
        monkeypatch.delenv("EDITOR", raising=False)
        sqs = Sqs([found := dead_letter(body="{")])

        with pytest.raises(InputError, match="--body"):
            edit(Site(sqs).context, found.message_id)

        assert sqs.dead_letters == [found]
        assert kept_texts(tmp_path) == []

    def test_others_can_see_the_dead_letter_when_a_person_edits_it(self) -> None:
        sqs = Sqs([dead_letter(body="{")])
        hidden: list[set[str]] = []
        body = typed(ACCEPTED, lambda: hidden.append(set(sqs.hidden)))

        edit(Site(sqs).context, sqs.ids[0], body=body)

        assert hidden == [set()]
        assert len(sqs.sent) == 1

    def test_nothing_is_sent_when_another_settled_it_meanwhile(self) -> None:
        sqs = Sqs([dead_letter(body="{")])
        body = typed(ACCEPTED, sqs.dead_letters.clear)

        with pytest.raises(CloudError, match="has deleted them"):
            edit(Site(sqs).context, sqs.ids[0], body=body)

        assert sqs.sent == []

    @pytest.mark.parametrize("new_key", [False, True])
    def test_nothing_is_sent_when_the_request_has_a_number(
        self, capsys: pytest.CaptureFixture[str], *, new_key: bool
    ) -> None:
        sqs = Sqs([found := dead_letter(body=ACCEPTED)])
        site = Site(sqs, Keys({"PROJ#k-1": 7}))

        with pytest.raises(InputError, match="redrive"):
            edit(site.context, sqs.ids[0], body=typed(OTHER), new_key=new_key)

        assert sqs.sent == []
        assert sqs.dead_letters == [found]
        assert f"{found.message_id}: has PROJ-7" in capsys.readouterr().err
