"""Names of migration files, and the programs that migrations exclude."""

import re
from pathlib import Path

import pytest

from dashwright.common.database import schema
from dashwright.common.errors import DashwrightError


def test_files_are_read_in_order_of_their_numbers(tmp_path: Path) -> None:
    """Migrations are ordered by their number, not by folder; files without the suffix ``.sql`` are ignored."""
    for name in ("0010_c.sql", "0002_b.sql", "0001_a.sql", "__init__.py"):
        (tmp_path / name).write_text(name)
    assert [migration.name for migration in schema.read_migrations(tmp_path)] == ["0001_a.sql", "0002_b.sql", "0010_c.sql"]


@pytest.mark.parametrize("name", ["1_a.sql", "0001-a.sql", "0001_A.sql", "a.sql", "0001_.sql"])
def test_an_invalid_name_is_an_error(tmp_path: Path, name: str) -> None:
    """A name without four digits, an underscore and lower-case words is an error that names the file."""
    (tmp_path / name).touch()
    with pytest.raises(DashwrightError, match=name):
        schema.read_migrations(tmp_path)


#: The last migration before the rule that services of two versions can run on one schema.
LAST_UNRESTRICTED = "0043"
#: SQL that removes or changes a part of the schema that programs of the previous version use.
_REMOVES = re.compile(r"\b(drop (table|column)|rename (to|column)|alter column \w+ (set not null|type)|drop default)\b", re.IGNORECASE)


def test_a_migration_that_removes_something_names_the_oldest_program() -> None:
    """Services of the previous version run on the new schema, so a migration only adds to it, or says which programs it excludes."""
    for migration in schema.read_migrations(schema.MIGRATIONS):
        number = migration.name[:4]
        if number > LAST_UNRESTRICTED and (match := _REMOVES.search(migration.sql)):
            assert migration.oldest_program, f"{migration.name}: {match[0]}"


def test_a_duplicate_number_is_an_error(tmp_path: Path) -> None:
    """Two files with one number are an error, because they have no order."""
    (tmp_path / "0001_a.sql").touch()
    (tmp_path / "0001_b.sql").touch()
    with pytest.raises(DashwrightError, match=r"0001_a\.sql and 0001_b\.sql have the same number"):
        schema.read_migrations(tmp_path)
