"""Object storage in a directory and in a bucket of a server that imitates S3."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.servers.s3 import ACCESS_KEY, BUCKET, SECRET_KEY, s3_server

from dashwright.common.errors import Unavailable
from dashwright.common.object_storage import READ_BYTES, ObjectMissing, ObjectStorage
from dashwright.common.storage_location import StorageLocation


def bucket_at(endpoint: str, *, bucket: str = BUCKET) -> StorageLocation:
    """Return the location of a bucket of the server."""
    return StorageLocation(None, bucket, "a/prefix", endpoint, "us-east-1", SecretStr(ACCESS_KEY), SecretStr(SECRET_KEY))


@pytest.fixture(params=["directory", "bucket"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ObjectStorage]:
    """Provide an empty storage of each type."""
    if request.param == "directory":
        yield ObjectStorage.at(StorageLocation(tmp_path / "new" / "directory"))
    else:
        with s3_server() as endpoint:
            yield ObjectStorage.at(bucket_at(endpoint))


async def write_object(storage: ObjectStorage, path: str, *chunks: bytes) -> None:
    """Write an object in chunks."""
    async with storage.writer(path) as writer:
        for chunk in chunks:
            await writer.write(chunk)


async def write_partly(storage: ObjectStorage, path: str) -> None:
    """Write the beginning of an object, and raise an error."""
    async with storage.writer(path) as writer:
        await writer.write(bytes(7 << 20))  # more than the first part of an upload to a bucket
        raise ZeroDivisionError


@pytest.mark.parametrize("size", [10, 2 * READ_BYTES + 1, 13 << 20], ids=["small", "several reads", "several parts"])
async def test_an_object_is_read_as_it_was_written(storage: ObjectStorage, size: int) -> None:
    """Objects of any size are written in chunks and read in ranges."""
    # A pattern whose length is not a power of two, so that exchanged chunks differ.
    data = bytes(number % 251 for number in range(1000)) * (size // 1000 + 1)
    data = data[:size]
    await write_object(storage, "b/1", *(data[start : start + (1 << 20)] for start in range(0, size, 1 << 20)))
    content = bytearray()
    while len(content) < size:
        content += await storage.read("b/1", start=len(content), size=size)
    assert content == data


async def test_a_failed_writer_creates_no_object(storage: ObjectStorage) -> None:
    """If the block of a writer raises, there is no object."""
    with pytest.raises(ZeroDivisionError):
        await write_partly(storage, "b/1")
    assert await storage.list_paths("b/") == []
    with pytest.raises(ObjectMissing):
        await storage.read("b/1", start=0, size=1)


async def test_objects_are_deleted_by_path_and_prefix(storage: ObjectStorage) -> None:
    """A deletion leaves objects with other prefixes, and ignores missing ones."""
    for path in ("b/1", "b/2", "bc/1"):
        await write_object(storage, path, b"x")
    await storage.delete("b/1", "b/9")
    assert await storage.list_paths("b/") == ["b/2"]
    await storage.delete_all("b/")
    await storage.delete_all("b/")  # without any object
    assert await storage.list_paths("b/") == []
    assert await storage.list_paths("bc/") == ["bc/1"]


async def test_a_missing_bucket_is_unavailable() -> None:
    """A failure of the storage raises Unavailable, whose message has no address or key."""
    with s3_server() as endpoint:
        storage = ObjectStorage.at(bucket_at(endpoint, bucket="absent"))
        with pytest.raises(Unavailable) as caught:
            await write_object(storage, "b/1", b"x")
    assert endpoint not in caught.value.message


async def test_a_file_in_place_of_the_directory_is_unavailable(tmp_path: Path) -> None:
    """A directory that cannot be used raises Unavailable."""
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable):
        await write_object(ObjectStorage.in_directory(tmp_path / "file"), "b/1", b"x")
