"""``/api/folders``, as existing clients ask for it."""

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_folder_permissions import allow, dashboard, folder, number_of

from dashwright.common.identity import Role


async def test_a_folder_is_made_in_another(api: Api) -> None:
    """With a uid that is given or made, a title, and what is above it."""
    await folder(api, "f")
    status, made = await api(
        "POST", "/api/folders", {"title": "Subdepartment ABC", "uid": "nErXDvCkzz", "parentUid": "f", "description": "Of ABC"}
    )
    assert status == 200
    assert {key: made[key] for key in ("uid", "title", "parentUid", "version", "hasAcl", "canAdmin", "description", "createdBy")} == {
        "uid": "nErXDvCkzz",
        "title": "Subdepartment ABC",
        "parentUid": "f",
        "version": 1,
        "hasAcl": False,
        "canAdmin": True,
        "description": "Of ABC",
        "createdBy": "admin",
    }
    assert made["parents"] == [(await api("GET", "/api/folders/f"))[1]]
    assert await api("GET", f"/api/folders/id/{made['id']}") == (200, made)
    assert await api("GET", "/api/folders/nErXDvCkzz") == (200, made)
    status, made = await api("POST", "/api/folders", {"title": "General", "parentUid": "general"})
    assert (status, len(made["uid"]), "parentUid" in made) == (200, 14, False)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"title": None}, 400, "folder title cannot be empty"),
        ({"title": " "}, 400, "folder title cannot be empty"),
        ({"title": "x" * 5001}, 400, "Folder title cannot contain more than 5 000 characters"),
        ({"title": "A", "uid": "a b"}, 400, "uid contains illegal characters"),
        ({"title": "A", "uid": "general"}, 400, 'the uid "general" is reserved'),
        ({"title": "A", "parentUid": "none"}, 404, "folder not found"),
        ({"title": "A", "uid": "f"}, 412, "the folder has been changed by someone else"),
        ({"title": 5}, 400, "bad request data"),
    ],
)
async def test_invalid_folders_are_refused(api: Api, body: dict[str, object], status: int, message: str) -> None:
    """The response has the reason, and nothing is stored."""
    await folder(api, "f")
    found, answer = await api("POST", "/api/folders", body)
    assert (found, answer["message"].startswith(message)) == (status, True), answer
    assert answer.get("status") == ("version-mismatch" if status == 412 else None)


async def test_a_change_names_the_version_it_replaces(api: Api) -> None:
    """Or overwrites any; otherwise 412. A title of its own makes a version, the same one makes none."""
    await folder(api, "f")
    mismatch = (412, {"status": "version-mismatch", "message": "the folder has been changed by someone else"})
    for body in ({"title": "B"}, {"title": "B", "version": 2}, {"title": "B", "overwrite": False}):
        assert await api("PUT", "/api/folders/f", body) == mismatch
    status, answer = await api("PUT", "/api/folders/f", {"title": "Département DEF", "version": 1})
    assert (status, answer["title"], answer["version"], answer["url"]) == (200, "Département DEF", 2, "/dashboards/f/f/departement-def")
    for same in ({"title": "Département DEF", "overwrite": True}, {"version": 2}):
        status, answer = await api("PUT", "/api/folders/f", same)
        assert (status, answer["version"], answer["title"]) == (200, 2, "Département DEF")
    assert (await api("PUT", "/api/folders/f", {"title": " ", "overwrite": True})) == (400, {"message": "folder title cannot be empty"})
    assert (await api("PUT", "/api/folders/none", {"title": "A", "overwrite": True})) == (404, {"message": "folder not found"})


async def test_a_folder_is_moved(api: Api) -> None:
    """Its uid, title and rules stay; the audit calls it a move."""
    await folder(api, "f")
    await folder(api, "container")
    await allow(api, "folders/f", {"role": "Viewer", "permission": 1})
    status, answer = await api("POST", "/api/folders/f/move", {"parentUid": "container"})
    assert (status, answer["uid"], answer["parentUid"], answer["hasAcl"]) == (200, "f", "container", True)
    status, answer = await api("POST", "/api/folders/f/move", {"parentUid": ""})
    assert (status, "parentUid" in answer) == (200, False)
    assert await api.sql("select count(*) from audit_event where action = 'folder.move' and object = 'folder:f'") == 2
    assert (await api("POST", "/api/folders/none/move", {"parentUid": "f"})) == (404, {"message": "folder not found"})


async def test_abilities_are_those_of_the_rules(api: Api) -> None:
    """On the folder that is asked for; ``accesscontrol`` spells them out."""
    vic = await api.person("vic", Role.VIEWER)
    number = await number_of(api, "vic")
    await folder(api, "f")
    expected = [(1, False, False, False), (2, True, True, False), (4, True, True, True)]
    for level, can_save, can_delete, can_admin in expected:
        await allow(api, "folders/f", {"userId": number, "permission": level})
        status, answer = await api("GET", "/api/folders/f?accesscontrol=true", auth=vic)
        assert status == 200
        told = (answer["canSave"], answer["canDelete"], answer["canAdmin"])
        assert (told, answer["canEdit"]) == ((can_save, can_delete, can_admin), can_save)
        control = answer["accessControl"]
        assert (control.get("folders:read"), control.get("dashboards:create"), control.get("folders.permissions:write")) == (
            True,
            can_save or None,
            can_admin or None,
        )
    await allow(api, "folders/f")
    assert (await api("GET", "/api/folders/f", auth=vic))[0] == 403
    assert (await api("GET", "/api/folders/f/counts", auth=vic))[0] == 403


async def test_folders_are_listed_that_may_be_read_or_changed(api: Api) -> None:
    """By title, in pages, in one place; ``permission=Edit`` leaves out those that may be read only."""
    eve = await api.person("eve", Role.EDITOR)
    for uid in ("b", "a", "c", "closed"):
        await folder(api, uid)
    await folder(api, "inner", "b")
    await dashboard(api, "d")
    await allow(api, "folders/closed")
    await allow(api, "folders/a", {"role": "Viewer", "permission": 1})

    async def listed(query: str) -> list[str]:
        status, answer = await api("GET", f"/api/folders?{query}", auth=eve)
        assert status == 200, answer
        return [item["uid"] for item in answer]

    assert await listed("") == ["a", "b", "c"]
    assert await listed("limit=1&page=2") == ["b"]
    assert await listed("permission=Edit") == ["b", "c"]
    assert await listed("permission=View&parentUid=b") == ["inner"]
    assert (await api("GET", "/api/folders?parentUid=none"))[0] == 404
    assert (await api("GET", "/api/folders?parentUid=closed", auth=eve))[0] == 403
    assert (await api("GET", "/api/folders?permission=Admin"))[0] == 400
