"""The cluster of the embedded PostgreSQL on disk: created once, its password stored next to it, its version checked."""

import shutil
import signal
import tempfile
from pathlib import Path
from secrets import token_urlsafe

from dashwright.common.errors import Unavailable
from dashwright.standalone import child
from dashwright.standalone.placement import Placement

_INITDB = ["-U", "dashwright", "-A", "scram-sha-256", "-E", "UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions"]


def open_cluster(placement: Placement) -> str:
    """Return the password of the cluster's user ``dashwright``; create the cluster if it does not exist.

    Raises Unavailable if the cluster cannot be created, was written by another major version, or its password is
    missing.
    """
    password_file = placement.password
    if not placement.data.exists():
        # The password is written first: a cluster without its password would be unusable.
        _write_secret(password_file, token_urlsafe(24))
        _make(placement, password_file.read_text(encoding="ascii"))
    _check_version(placement)
    if not password_file.exists():
        raise Unavailable(f"The password file {password_file} is missing. Restore it to open the database in {placement.data}.")
    return password_file.read_text(encoding="ascii")


def _make(placement: Placement, password: str) -> None:
    """Create the cluster under another name and rename it, so that an interrupted ``initdb`` does not look finished."""
    unfinished = placement.folder / "postgres.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    shutil.chown(unfinished, placement.account.uid, placement.account.gid)
    words = placement.folder / "postgres.pw"
    _write_secret(words, password)
    shutil.chown(words, placement.account.uid, placement.account.gid)
    command = [str(placement.programs / "initdb"), "-D", str(unfinished), "--pwfile", str(words), *_INITDB]
    with tempfile.TemporaryFile() as output:
        status = child.spawn(command, account=placement.account, output=output, at_parents_end=signal.SIGKILL).wait()
        words.unlink()
        output.seek(0)
        said = output.read().decode(errors="replace").strip()[-1000:]
    if "could not look up effective user" in said:
        raise Unavailable("PostgreSQL requires a user with a name: start Dashwright as a user with an entry in /etc/passwd.")
    if status != 0:
        raise Unavailable(f"The database in {placement.data} could not be created: {said}")
    unfinished.rename(placement.data)


def _check_version(placement: Placement) -> None:
    written = (placement.data / "PG_VERSION").read_text(encoding="ascii").strip()
    ours = placement.version.split(".", 1)[0]
    if written != ours:
        raise Unavailable(
            f"The database in {placement.data} was written by PostgreSQL {written}; this is {ours}. Dump it with the version that wrote "
            f"it, move the folder aside, start again and load the dump; or set DASHWRIGHT_DATABASE_URL to a server of version {written}."
        )


def _write_secret(file: Path, secret: str) -> None:
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_text(secret, encoding="ascii")
