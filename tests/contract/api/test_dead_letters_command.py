"""The command ``dashwright dead-letters``: the dead letters of a running server, for users and scripts."""

import json
import sys
from collections.abc import Awaitable, Callable
from io import BytesIO, TextIOWrapper
from typing import Any

import pytest
from tests.contract.api import repositories
from tests.contract.api.conftest import PASSWORD, Api
from tests.contract.api.dead_letters import LETTERS, STATE, HandledDeliveries, letters, submit
from tests.contract.api.test_jobs_command import json_printed, printed_lines, run_command, server_options

from dashwright.api.dead_letters import letters as use_cases
from dashwright.api.dead_letters.consumer import DeadLetterConsumer
from dashwright.common.errors import Unavailable
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.models.dead_letter import DeadLetterState
from dashwright.standalone.dead_letters.command import Selection, discard, get, list_, replay

pytestmark = pytest.mark.usefixtures("silent_log")

CreateLetters = Callable[..., Awaitable[list[str]]]


@pytest.fixture(autouse=True)
def handled_deliveries(monkeypatch: pytest.MonkeyPatch) -> HandledDeliveries:
    """Count the dead letters that gateways have stored in this test."""
    return HandledDeliveries(monkeypatch, DeadLetterConsumer)


@pytest.fixture
def create_letters(api: Api, broker: MemoryBroker, handled_deliveries: HandledDeliveries) -> CreateLetters:
    """Return a function that publishes refused submissions with the given bodies, and returns the names of all stored letters."""
    count = 0

    async def publish(*bodies: bytes, **members: Any) -> list[str]:
        """Submit messages, and return the names of all letters once these messages have been handled."""
        nonlocal count
        for body in bodies:
            count += 1
            await submit(broker, body, **members)
            await handled_deliveries.reach(count)
        return [letter["metadata"]["name"] for letter in await letters(api)]

    return publish


#: A body that is too large to be stored, so that its letter cannot be replayed.
TOO_LARGE_BODY = b"x" * (2 * 1024 * 1024 + 1)


def sync_submission(repository: str) -> bytes:
    """Return a submission that is refused as long as the repository does not exist."""
    return json.dumps({"action": "sync", "repository": repository, "sync": {}}).encode()


async def test_letters_are_listed_with_their_reasons(api: Api, create_letters: CreateLetters, capsys: pytest.CaptureFixture[str]) -> None:
    """The list has each letter with its reason, without control characters of the message. An empty list is reported."""
    assert await run_command(list_, options=server_options(api)) == 0
    assert printed_lines(capsys) == ["no dead letters"]
    [name] = await create_letters(sync_submission("te\x1bam"))
    assert await run_command(list_, options=server_options(api)) == 0
    header, row = printed_lines(capsys)
    assert header.split()[:3] == ["name", "state", "reason"]
    assert row.split()[:2] == [name, "dead"]
    assert "\x1b" not in row
    assert await run_command(list_, selection=Selection(state=DeadLetterState.REPLAYED), options=server_options(api)) == 0
    assert printed_lines(capsys) == ["no dead letters"]


@pytest.mark.parametrize(
    ("selection", "expected_count"),
    # Of the three letters, one is replayed, one is dead and replayable, and one is dead and not replayable.
    [
        (Selection(), 3),
        (Selection(state=DeadLetterState.DEAD), 2),
        (Selection(state=DeadLetterState.REPLAYED), 1),
        (Selection(queue="dashwright.jobs.submit"), 3),
        (Selection(queue="other"), 0),
        (Selection(replayable=True), 1),
        (Selection(replayable=False), 2),
        (Selection(state=DeadLetterState.DEAD, replayable=False), 1),
        (Selection(selector=f"{STATE} in (dead,replayed),{STATE}!=dead"), 1),
    ],
    ids=[
        "all",
        "dead",
        "replayed",
        "queue of submissions",
        "unknown queue",
        "replayable",
        "not replayable",
        "dead and not replayable",
        "label selector",
    ],
)
async def test_options_select_letters(
    api: Api, create_letters: CreateLetters, capsys: pytest.CaptureFixture[str], selection: Selection, expected_count: int
) -> None:
    """Options are combined, and a label selector may be added to them."""
    replayed, *_ = await create_letters(sync_submission("a"), sync_submission("b"), TOO_LARGE_BODY)
    await api.sql("update dead_letter set replayed_at = now() where name = $1", replayed)
    assert await run_command(list_, selection=selection, as_json=True, options=server_options(api)) == 0
    listed = json.loads(json_printed(capsys))
    assert len(listed) == expected_count
    assert {letter["kind"] for letter in listed} <= {"DeadLetter"}


async def test_a_letter_is_shown_with_its_message(api: Api, create_letters: CreateLetters, capsys: pytest.CaptureFixture[str]) -> None:
    """The text has the reason, the headers and the body on one line each. The JSON output is the object of the server."""
    headers = {"team": "a\nb", "password": "t0p-secret"}
    [name] = await create_letters(b'{"action":\n"dance"}', message_id="m-1", headers=headers)
    assert await run_command(get, name, options=server_options(api)) == 0
    fields = dict(line.split(":", 1) for line in printed_lines(capsys))
    assert (fields["name"].strip(), fields["state"].strip(), fields["message id"].strip()) == (name, "dead", "m-1")
    assert "action" in fields["reason"]
    assert (fields["header"].strip(), fields["removed"].strip()) == ("team: a\\nb", "password")
    assert fields["body"].strip() == '{"action":\\n"dance"}'
    assert await run_command(get, name, as_json=True, options=server_options(api)) == 0
    assert json.loads(json_printed(capsys)) == (await api("GET", f"{LETTERS}/{name}"))[1]
    assert await run_command(get, "none", options=server_options(api)) == 2


@pytest.mark.parametrize("body", [b"\xff\x00\r\n", b'{"a": 1}', b""], ids=["not text", "JSON", "empty"])
async def test_a_body_is_printed_unchanged(api: Api, create_letters: CreateLetters, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    """Bytes in any encoding are printed unchanged, so that programs can send them again."""
    [name] = await create_letters(body)
    written = BytesIO()
    stdout = TextIOWrapper(written, write_through=True)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        assert await run_command(get, name, body=True, options=server_options(api)) == 0
    assert written.getvalue() == body


async def test_named_letters_are_replayed_once(api: Api, create_letters: CreateLetters, capsys: pytest.CaptureFixture[str]) -> None:
    """Letters are replayed by name, and a second run publishes nothing.

    A letter that cannot be replayed fails, and the others are replayed.
    """
    names = await create_letters(sync_submission("team"), TOO_LARGE_BODY)
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    assert await run_command(replay, names[:1], dry_run=True, options=server_options(api)) == 0
    assert printed_lines(capsys) == [f"{names[0]} can be replayed"]
    # Both runs fail because of the second letter.
    for _ in range(2):
        assert await run_command(replay, names, options=server_options(api)) == 1
        output = capsys.readouterr()
        assert f"{names[0]} replayed" in output.out
        assert "not complete" in output.err
    assert await run_command(replay, names[:1], as_json=True, options=server_options(api)) == 0
    assert json.loads(json_printed(capsys))["status"]["state"] == "replayed"
    assert await api.sql("select count(*) from audit_event where action = 'deadletter.replay' and outcome = 'ok'") == 1
    assert await run_command(replay, ["none", names[1]], as_json=True, options=server_options(api)) == 2
    assert json.loads(json_printed(capsys)) == []


async def test_selected_letters_are_replayed_in_several_requests(
    api: Api, create_letters: CreateLetters, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command repeats the request until no selected letter remains, and counts all letters."""
    monkeypatch.setattr(use_cases, "MAX_REPLAYED", 2)
    await create_letters(*(sync_submission(f"team-{number}") for number in range(5)))
    for number in range(5):
        await repositories.make_local_repository(api, f"team-{number}", api.data / f"team-{number}", "write")
    selection = Selection(replayable=True)
    assert await run_command(replay, selection=selection, dry_run=True, options=server_options(api)) == 0
    assert printed_lines(capsys) == ["5 can be replayed, 0 cannot be replayed"]
    assert await run_command(replay, selection=selection, options=server_options(api)) == 0
    assert printed_lines(capsys) == [
        "2 of 5 letters replayed 40 %",
        "4 of 5 letters replayed 80 %",
        "5 replayed, 0 remaining, 0 cannot be replayed",
    ]
    assert await run_command(replay, all_letters=True, as_json=True, options=server_options(api)) == 0
    assert json.loads(json_printed(capsys))["replayed"] == 0
    assert {letter["status"]["state"] for letter in await letters(api)} == {"replayed"}


async def test_a_replay_of_messages_that_are_refused_again_ends(
    api: Api,
    create_letters: CreateLetters,
    handled_deliveries: HandledDeliveries,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Messages that are refused again become new letters. The command replays only as many letters as there were at its start."""
    monkeypatch.setattr(use_cases, "MAX_REPLAYED", 2)
    await create_letters(*(sync_submission(f"team-{number}") for number in range(4)))
    replay_selected = use_cases.DeadLetters.replay_selected
    requests = 0

    async def replay_and_wait_for_new_letters(*arguments: Any, **options: Any) -> use_cases.ReplayCounts:
        """Replay letters, and wait until their messages are letters again."""
        nonlocal requests
        requests += 1
        result = await replay_selected(*arguments, **options)
        # Each request replays two letters, whose messages are refused again.
        await handled_deliveries.reach(4 + 2 * requests)
        return result

    monkeypatch.setattr(use_cases.DeadLetters, "replay_selected", replay_and_wait_for_new_letters)
    assert await run_command(replay, all_letters=True, options=server_options(api)) == 1
    assert printed_lines(capsys)[-1] == "4 replayed, 2 remaining, 0 cannot be replayed"
    assert requests == 2


async def test_letters_are_discarded_by_name_or_selection(
    api: Api, create_letters: CreateLetters, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run shows the names and deletes nothing. An unknown name is reported, and the letters with the other names are deleted."""
    names = await create_letters(*(sync_submission(f"team-{number}") for number in range(4)))
    assert await run_command(discard, [names[0]], dry_run=True, as_json=True, options=server_options(api)) == 0
    assert json.loads(json_printed(capsys)) == [names[0]]
    assert await run_command(discard, None, all_letters=True, dry_run=True, as_json=True, options=server_options(api)) == 0
    assert json.loads(json_printed(capsys)) == names
    assert len(await letters(api)) == 4
    assert await run_command(discard, [names[0], "none", names[1]], options=server_options(api)) == 2
    output = capsys.readouterr()
    assert "none" in output.err
    assert [f"{name} discarded" in output.out for name in names] == [True, True, False, False]
    await api.sql("update dead_letter set replayed_at = now() where name = $1", names[2])
    assert await run_command(discard, selection=Selection(state=DeadLetterState.REPLAYED), options=server_options(api)) == 0
    assert printed_lines(capsys) == [f"{names[2]} discarded"]
    assert [letter["metadata"]["name"] for letter in await letters(api)] == names[3:]
    assert await run_command(discard, all_letters=True, as_json=True, options=server_options(api)) == 0
    assert json.loads(json_printed(capsys)) == names[3:]
    assert await run_command(discard, all_letters=True, options=server_options(api)) == 0
    assert printed_lines(capsys) == ["no dead letters"]


@pytest.mark.parametrize("command", [replay, discard])
@pytest.mark.parametrize(
    ("names", "options"),
    [
        (None, {}),
        (["a"], {"all_letters": True}),
        (["a"], {"selection": Selection(queue="q")}),
        (None, {"all_letters": True, "selection": Selection(queue="q")}),
    ],
    ids=["nothing", "name and all", "name and selection", "all and selection"],
)
async def test_letters_are_named_or_selected(
    api: Api, capsys: pytest.CaptureFixture[str], command: Callable[..., int], names: list[str] | None, options: dict[str, Any]
) -> None:
    """A command needs either names, or options that select letters, or ``--all``. Combinations and no argument are refused."""
    assert await run_command(command, names, **options, options=server_options(api)) == 2
    assert "--all" in capsys.readouterr().err


async def test_a_caller_without_the_right_changes_nothing(
    api: Api, create_letters: CreateLetters, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command without the permission changes nothing, and the message names the permission."""
    [name] = await create_letters(sync_submission("team"))
    await api.person("editor", Role.EDITOR)
    options = server_options(api, user=f"editor:{PASSWORD}")
    for command in (replay, discard):
        assert await run_command(command, [name], options=options) == 2
        assert "deadletters:write" in capsys.readouterr().err
    assert await run_command(list_, options=options) == 2
    assert "deadletters:read" in capsys.readouterr().err


async def test_a_replay_without_a_broker_is_reported(
    api: Api, create_letters: CreateLetters, broker: MemoryBroker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay without a broker leaves the letter dead, and exits with status 2."""
    [name] = await create_letters(sync_submission("team"))

    async def refuse(*_: Any, **__: Any) -> None:
        raise Unavailable("no broker")

    with monkeypatch.context() as patch:
        patch.setattr(broker, "publish", refuse)
        assert await run_command(replay, [name], options=server_options(api)) == 2
        assert await run_command(replay, all_letters=True, options=server_options(api)) == 2
    assert "no broker" in capsys.readouterr().err
    assert [letter["status"]["state"] for letter in await letters(api)] == ["dead"]
