"""Pictures of repositories. A client needs no credentials but the id of a picture, and the number of pictures is limited."""

import uuid
from datetime import timedelta

import pytest
from tests.contract.api.conftest import Api
from tests.integration.test_commit_of_a_repository import SPEC, create_object

from dashwright.common.database.pool import Database
from dashwright.common.errors import TooLarge
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.stores import pictures, resources
from dashwright.common.stores.pictures import StoredPicture

PICTURE = StoredPicture("image/png", b"\x89PNG of a test")
RENDER = f"/apis/{REPOSITORY.api_version()}/namespaces/default/repositories/r/render"


@pytest.fixture
async def repository(database: Database) -> uuid.UUID:
    """Create the repository ``r`` and return its uid."""
    return await create_object(database, resources.Write(REPOSITORY, "r", SPEC, "v0alpha1", extract=Extract("R")))


async def store_picture(database: Database, repository: uuid.UUID, picture: StoredPicture = PICTURE) -> uuid.UUID | None:
    """Store a picture and return its id, or None if the repository does not exist."""
    async with database.transaction() as connection:
        return await pictures.insert(connection, repository, picture)


async def test_a_stored_picture_needs_no_credentials(api: Api, database: Database, repository: uuid.UUID) -> None:
    """A picture is read without credentials, with its content type and a policy with ``sandbox``. A wrong repository or id is 404."""
    picture_id = await store_picture(database, repository)
    async with api.session.get(f"{RENDER}/{picture_id}") as response:
        assert (response.status, response.content_type, await response.read()) == (200, "image/png", PICTURE.body)
        assert "sandbox" in response.headers["Content-Security-Policy"]
    for path in (f"{RENDER}/{uuid.uuid4()}", f"{RENDER}/abc", RENDER, f"{RENDER}/", f"{RENDER.replace('/r/', '/other/')}/{picture_id}"):
        # Without credentials, a path outside of the public routes is 401.
        assert (await api("GET", path, auth=None))[0] in (401, 404), path
        assert (await api("GET", path))[0] == 404, path
    status, body = await api("GET", f"{RENDER}/a%20b", auth=None)
    assert (status, body["message"]) == (400, "invalid blob id")


async def test_pictures_are_bounded(database: Database, repository: uuid.UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the newest pictures of a repository are kept, and old pictures can be deleted.

    A picture that is too large, and a picture of an unknown repository, are not stored.
    """
    monkeypatch.setattr(pictures, "MAX_PICTURES", 2)
    picture_ids = [await store_picture(database, repository) for _ in range(3)]
    async with database.connection() as connection:
        stored_pictures = [await pictures.find(connection, "default", "r", picture_id) for picture_id in picture_ids if picture_id]
        assert stored_pictures == [None, PICTURE, PICTURE]
        assert await pictures.expire(connection, older_than=timedelta(hours=1), limit=10) == 0
        assert await pictures.expire(connection, older_than=timedelta(0), limit=10) == 2
    with pytest.raises(TooLarge):
        await store_picture(database, repository, StoredPicture("image/png", bytes(pictures.MAX_PICTURE_BYTES + 1)))
    assert await store_picture(database, uuid.uuid4()) is None
