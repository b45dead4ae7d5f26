"""A mended letter is one that the worker takes, sent by a person who meant it."""

import io
import json
import resource
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import typer

from tests.support.builders import ticket_fields
from tests.support.dead_letter_queue import DEAD, Site, Sqs, letter
from ticketctl.cli.errors import CloudError, InputError, NotThereError
from ticketctl.cli.prompts import agreed, confirm
from ticketctl.dead_letters.choosing import Choice
from ticketctl.dead_letters.copies import save
from ticketctl.dead_letters.correcting import Wishes, correct
from ticketctl.dead_letters.editing import is_unchanged, new_body, pretty, problems
from ticketctl.dead_letters.editor import text_file
from ticketctl.dead_letters.holding import holding
from ticketctl.dead_letters.letters import Filter, Letter
from ticketctl.dead_letters.tasks import delete_chosen, replace_letter

ACCEPTED = json.dumps(ticket_fields("PROJ", "k-1"))
OTHER = json.dumps(ticket_fields("PROJ", "k-1", title="Another"))


class Terminal(io.StringIO):
    """A person, who types."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


@dataclass
class Texts:
    """What a person writes, one time after the other."""

    texts: list[str]

    def __call__(self) -> str:
        """Return the next text."""
        return self.texts.pop(0)


def taken(body: str = ACCEPTED) -> Letter:
    """Return a letter whose key another ticket has."""
    return letter(body=body, ErrorType="IdempotencyMismatchError")


class TestText:
    """A person edits all of the body, and sees it well."""

    def test_json_is_laid_out(self) -> None:
        """As people write it, in their own letters."""
        assert pretty('{"a":"ü","b":[1,2.5]}') == (
            '{\n  "a": "ü",\n  "b": [\n    1,\n    2.5\n  ]\n}'
        )

    @pytest.mark.parametrize(
        "body",
        [
            "{nonsense",
            '{"a": 1, "a": 2}',
            '{"a": 1.00000000000000000001}',
            f'{{"a": {"9" * 5000}}}',
            "[" * 50_000,
        ],
        ids=lambda body: body[:20],
    )
    def test_body_stays_as_it_is_when_something_would_get_lost(self, body: str) -> None:
        """A name that stands twice, say."""
        assert pretty(body) == body

    def test_lone_surrogate_stays_an_escape_when_the_rest_is_laid_out(self) -> None:
        """No encoding has it, but a broken producer may send it."""
        laid_out = pretty(r'{"a":"\ud800 ü \ud83d\udd11"}')

        assert laid_out == '{\n  "a": "\\ud800 ü 🔑"\n}'
        assert laid_out.encode()

    def test_no_file_stays_when_the_text_does_not_fit_the_disk(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """There is nothing in it that anybody wrote."""
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
        try:
            with pytest.raises(OSError, match="too large"), text_file("text"):
                pass
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

        assert list(tmp_path.iterdir()) == []

    def test_text_is_kept_when_sending_it_fails(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        """Nobody writes it twice."""

        def fail() -> None:
            with text_file("a\r\nb") as path:
                path.rename(tmp_path / "kept")
                raise CloudError

        with pytest.raises(CloudError):
            fail()

        assert (tmp_path / "kept").read_bytes() == b"a\r\nb"
        assert (tmp_path / "kept").stat().st_mode & 0o077 == 0
        assert "your text is kept in " in capsys.readouterr().err


class TestChange:
    """Only a change is sent."""

    @pytest.mark.parametrize("text", [pretty(ACCEPTED), f" {ACCEPTED}\n"])
    def test_layout_is_no_change(self, text: str) -> None:
        """An editor may add a line break."""
        assert is_unchanged(text, letter(body=ACCEPTED))

    @pytest.mark.parametrize("body", ["[1,2]", "7", '{"a":NaN}', '{"a":1,"a":2}'])
    def test_layout_is_no_change_when_the_json_is_no_request(self, body: str) -> None:
        """Nobody has mended it yet."""
        dead = letter(body=body)

        assert is_unchanged(f"{pretty(body)}\n", dead)
        assert not is_unchanged("[]", dead)

    def test_text_that_is_no_json_is_compared_as_it_is(self) -> None:
        """But for its margins."""
        dead = letter(body="{nonsense")

        assert is_unchanged("{nonsense\n", dead)
        assert not is_unchanged("{sense", dead)
        assert not is_unchanged(ACCEPTED, dead)

    def test_key_stays_when_no_new_one_is_wanted(self) -> None:
        """The producer knows its request by it."""
        body = new_body(pretty(OTHER), letter(body=ACCEPTED), new_key=False)

        assert json.loads(body)["idempotency_key"] == "k-1"
        assert "\n" not in body

    def test_key_is_new_when_one_is_wanted(self) -> None:
        """Two times, two keys; one that was written by hand stays."""
        dead = letter(body=ACCEPTED)
        keys = {
            json.loads(new_body(OTHER, dead, new_key=True))["idempotency_key"]
            for _ in range(2)
        }
        own = new_body(OTHER.replace("k-1", "mine"), dead, new_key=True)

        assert len(keys | {"k-1"}) == 3
        assert json.loads(own)["idempotency_key"] == "mine"


class TestAccepted:
    """Nothing is sent that the worker would refuse."""

    def test_body_passes_when_the_worker_would_take_it(self) -> None:
        """No problem, no question."""
        assert problems(ACCEPTED, letter(body="{")) == []

    def test_taken_key_is_refused_for_another_ticket(self) -> None:
        """Unless somebody restores the first ticket and insists."""
        [problem] = problems(OTHER, taken())

        assert "--new-key" in problem
        assert problems(OTHER, taken(), force=True) == []
        assert problems(OTHER.replace("k-1", "k-2"), taken()) == []

    def test_text_can_be_edited_again_when_it_is_wrong(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Having read what is wrong."""
        monkeypatch.setattr("sys.stdin", Terminal("y\n"))
        texts = Texts(["{}", ACCEPTED])

        body = correct(letter(body="{"), texts, Wishes(may_ask=True))

        assert body is not None
        assert json.loads(body) == json.loads(ACCEPTED)
        assert "title: " in capsys.readouterr().err

    @pytest.mark.parametrize("may_ask", [False, True])
    def test_text_is_refused_when_nobody_edits_it_again(
        self, monkeypatch: pytest.MonkeyPatch, *, may_ask: bool
    ) -> None:
        """Nobody is there, or the answer is no."""
        monkeypatch.setattr("sys.stdin", Terminal("n\n"))

        with pytest.raises(InputError, match="nothing is sent"):
            correct(letter(body="{"), Texts(["{}"]), Wishes(may_ask=may_ask))

    def test_unchanged_body_passes_when_it_is_insisted_on(self) -> None:
        """But not one that is wrong."""
        assert correct(letter(body=ACCEPTED), Texts([ACCEPTED]), Wishes()) is None
        assert correct(letter(body=ACCEPTED), Texts([ACCEPTED]), Wishes(force=True))
        with pytest.raises(InputError):
            correct(letter(body="{"), Texts(["{"]), Wishes(force=True))


class TestReplaced:
    """The new body takes the letter's place, or nothing happens."""

    def test_new_body_is_sent_and_the_letter_deleted(self) -> None:
        """In this order, without the reason."""
        dead = letter(body="{", ErrorType="InvalidMessageError")
        sqs = Sqs([dead])

        with holding(sqs, DEAD) as held:
            list(held.receive())
            replace_letter(Site(sqs), held, dead, ACCEPTED)

        assert sqs.bodies == [ACCEPTED]
        assert sqs.sent[0]["MessageGroupId"] == "PROJ"
        assert "MessageAttributes" not in sqs.sent[0]
        assert sqs.letters == []

    def test_nothing_is_sent_when_somebody_took_the_letter_meanwhile(self) -> None:
        """They may have sent it back, or settled it."""
        dead = letter(body="{")
        sqs = Sqs([dead])

        with holding(sqs, DEAD) as held:
            list(held.receive())
            sqs.refused_handles = {dead.message_id}
            sqs.letters = []
            with pytest.raises(NotThereError, match="meanwhile"):
                replace_letter(Site(sqs), held, dead, ACCEPTED)

        assert sqs.sent == []

    def test_letter_stays_when_the_new_body_is_not_taken(self) -> None:
        """The failure is reported."""
        dead = letter(body="{")
        sqs = Sqs([dead], refused_sends={ACCEPTED})

        with holding(sqs, DEAD) as held:
            list(held.receive())
            with pytest.raises(CloudError, match="still dead letters"):
                replace_letter(Site(sqs), held, dead, ACCEPTED)

        assert sqs.letters == [dead]


class TestAgreed:
    """Only a person's yes is a yes."""

    @pytest.mark.parametrize(
        ("typed", "answer"),
        [("y\n", True), ("YES\n", True), ("\n", False), ("no\n", False)],
    )
    def test_answer_counts_when_a_person_gives_it(
        self, monkeypatch: pytest.MonkeyPatch, typed: str, *, answer: bool
    ) -> None:
        """All else is a no."""
        monkeypatch.setattr("sys.stdin", Terminal(typed))

        assert agreed("Really?") is answer

    def test_nobody_is_asked_when_it_was_said_before(self) -> None:
        """With --yes."""
        confirm("Really?", yes=True)

    def test_status_is_0_when_a_person_declines(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is what they want, and they are told that it is so."""
        monkeypatch.setattr("sys.stdin", Terminal("n\n"))

        with pytest.raises(typer.Exit) as ended:
            confirm("Really?", yes=False)

        assert ended.value.exit_code == 0
        assert capsys.readouterr().err.endswith("nothing was done\n")

    def test_status_is_2_when_nobody_can_be_asked(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What a script pipes in is no answer."""
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

        with pytest.raises(InputError, match="--yes") as refused:
            confirm("Really?", yes=False)

        assert refused.value.status == 2


class TestSaved:
    """A copy is all that a letter was."""

    def test_copy_is_complete_before_anything_is_deleted(self, tmp_path: Path) -> None:
        """Where it cannot be written, every letter stays."""
        sqs = Sqs([letter(), letter()])
        everything = Choice((), everything=True, filter=Filter())
        site, file = Site(sqs), tmp_path / "no" / "copy.jsonl"

        with pytest.raises(InputError):
            delete_chosen(site, everything, file, yes=True)
        assert len(sqs.letters) == 2

        file.parent.mkdir()
        delete_chosen(site, everything, file, yes=True)
        assert len(file.read_text().splitlines()) == 2
        assert sqs.letters == []

    def test_letters_are_reported_when_they_cannot_be_deleted(self) -> None:
        """The answer's status is 200 all the same."""
        sqs = Sqs([letter()])
        sqs.refused_handles = set(sqs.ids)
        by_id = Choice(sqs.ids, everything=False, filter=Filter())

        with pytest.raises(CloudError, match="1 dead letters could not"):
            delete_chosen(Site(sqs), by_id, None, yes=True)

    def test_bytes_are_base64(self, tmp_path: Path) -> None:
        """As Lambda delivers them."""
        attributes = {"raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}}
        file = tmp_path / "copy.jsonl"

        save([replace(letter(body="a\nb"), attributes=attributes)], file)

        [line] = file.read_text().splitlines()
        copy = json.loads(line)
        assert copy["body"] == "a\nb"
        assert copy["attributes"]["raw"] == {
            "DataType": "Binary",
            "BinaryValue": "AP8=",
        }

    def test_nothing_is_written_when_the_folder_is_missing(
        self, tmp_path: Path
    ) -> None:
        """The message says that nothing is deleted."""
        with pytest.raises(InputError, match="nothing is deleted"):
            save([letter()], tmp_path / "no" / "copy.jsonl")
