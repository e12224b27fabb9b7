"""The key for stored secrets that ``dashwright serve`` creates."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dashwright.common.errors import Unavailable
from dashwright.standalone import secret_key


def test_the_key_is_created_once_for_its_owner_only(tmp_path: Path) -> None:
    """The key is long and random, readable by its owner only, and the same at each start."""
    folder = tmp_path / "data"
    key = secret_key.read_or_create(folder)
    assert secret_key.read_or_create(folder) == key
    # 32 random bytes in base64 without padding.
    assert len(key) >= 43
    assert secret_key.read_or_create(tmp_path / "other") != key
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_concurrent_starts_get_the_same_key(tmp_path: Path) -> None:
    """Concurrent starts get the same key, because they have to read each other's secrets."""
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(secret_key.read_or_create, [tmp_path] * 8))) == 1


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe"])
def test_a_broken_key_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    """A broken key is not replaced, because all sealed secrets would be lost. The error names the file and the setting."""
    file = tmp_path / secret_key.FILE_NAME
    file.write_bytes(content)
    with pytest.raises(Unavailable, match=f"{file}.*DASHWRIGHT_SECRET_KEY"):
        secret_key.read_or_create(tmp_path)
    assert file.read_bytes() == content


def test_an_impossible_folder_is_reported(tmp_path: Path) -> None:
    """The error for an impossible folder is one sentence with the reason."""
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="can be neither read nor created"):
        secret_key.read_or_create(tmp_path / "file")
