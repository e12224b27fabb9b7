"""Settings whose values are in files of one folder, as for secrets of containers."""

from pathlib import Path

import pytest

from dashwright.common.settings import SettingsError, load


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Remove settings of secrets from the environment, and change to an empty directory, so that no ``.env`` file is read."""
    monkeypatch.chdir(tmp_path)
    for name in ("SECRETS_DIR", "SECRET_KEY", "DATABASE_URL"):
        monkeypatch.delenv(f"DASHWRIGHT_{name}", raising=False)


def test_a_file_named_like_a_variable_is_its_value(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The text of the file without surrounding white space is the value, for any case of the file's name; other files are ignored."""
    (tmp_path / "dashwright_secret_key").write_text("read from a file\n", encoding="utf-8")
    (tmp_path / "DASHWRIGHT_DATABASE_URL").write_text("postgresql://there/db\n", encoding="utf-8")
    (tmp_path / "unrelated").write_text("nothing", encoding="utf-8")
    monkeypatch.setenv("DASHWRIGHT_SECRETS_DIR", str(tmp_path))
    settings = load()
    assert settings.secret_key is not None
    assert settings.secret_key.get_secret_value() == "read from a file"
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == "postgresql://there/db"


def test_the_environment_wins_over_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A variable in the environment has precedence over a file."""
    (tmp_path / "dashwright_secret_key").write_text("read from a file", encoding="utf-8")
    monkeypatch.setenv("DASHWRIGHT_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("DASHWRIGHT_SECRET_KEY", "from the environment")
    settings = load()
    assert settings.secret_key is not None
    assert settings.secret_key.get_secret_value() == "from the environment"


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_a_folder_that_cannot_be_read_stops_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str) -> None:
    """A named folder that does not exist is a wrong setting, never an empty folder."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("DASHWRIGHT_SECRETS_DIR", str(tmp_path / folder))
    with pytest.raises(SettingsError, match=r"DASHWRIGHT_SECRETS_DIR: .* is not a readable directory"):
        load()


def test_without_the_folder_only_the_environment_counts(tmp_path: Path) -> None:
    """If the setting is absent, no folder is searched."""
    (tmp_path / "dashwright_secret_key").write_text("read from a file", encoding="utf-8")
    assert load().secret_key is None
