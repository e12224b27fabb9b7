"""The files of the embedded PostgreSQL: creation of the database cluster and its password, and the check of its version."""

import shutil
import signal
import tempfile
from pathlib import Path
from secrets import token_urlsafe

from dashwright.common.errors import Unavailable
from dashwright.standalone import child
from dashwright.standalone.placement import Placement

_OUTPUT_TAIL_LENGTH = 1000  # Characters of the output of initdb in an error message.

_INITDB_OPTIONS = [
    "-U",
    "dashwright",
    "-A",
    "scram-sha-256",
    "-E",
    "UTF8",
    "--locale-provider=builtin",
    "--locale=C.UTF-8",
    "--no-instructions",
]


def open_cluster(placement: Placement) -> str:
    """Return the password of the cluster's user ``dashwright``; create the cluster if it does not exist.

    Raises Unavailable if the cluster cannot be created, if another major version wrote it, or if its password is missing.
    """
    password_file = placement.password_file
    if not placement.cluster_folder.exists():
        # The password is written first: a cluster without its password would be unusable.
        password = token_urlsafe(24)
        _write_secret(password_file, password)
        _create_cluster(placement, password)
    _check_version(placement)
    if not password_file.exists():
        raise Unavailable(f"The password file {password_file} is missing. Restore it to open the database in {placement.cluster_folder}.")
    return password_file.read_text(encoding="ascii")


def _create_cluster(placement: Placement, password: str) -> None:
    """Create the cluster in a temporary directory and rename it, so that an interrupted ``initdb`` leaves no incomplete cluster."""
    temporary_folder = placement.folder / "postgres.new"
    shutil.rmtree(temporary_folder, ignore_errors=True)
    temporary_folder.mkdir(mode=0o700)
    shutil.chown(temporary_folder, placement.account.uid, placement.account.gid)
    # A copy of the password for initdb, which may run as another user than this process.
    initial_password_file = placement.folder / "postgres.pw"
    _write_secret(initial_password_file, password)
    shutil.chown(initial_password_file, placement.account.uid, placement.account.gid)
    command = [str(placement.programs / "initdb"), "-D", str(temporary_folder), "--pwfile", str(initial_password_file), *_INITDB_OPTIONS]
    with tempfile.TemporaryFile() as output:
        status = child.spawn(command, account=placement.account, output=output, parent_end_signal=signal.SIGKILL).wait()
        initial_password_file.unlink()
        output.seek(0)
        output_tail = output.read().decode(errors="replace").strip()[-_OUTPUT_TAIL_LENGTH:]
    if "could not look up effective user" in output_tail:
        raise Unavailable("PostgreSQL requires a user with a name: start Dashwright as a user with an entry in /etc/passwd.")
    if status != 0:
        raise Unavailable(f"The database in {placement.cluster_folder} could not be created: {output_tail}")
    temporary_folder.rename(placement.cluster_folder)


def _check_version(placement: Placement) -> None:
    """Raise Unavailable if another major version of PostgreSQL wrote the cluster."""
    data_version = (placement.cluster_folder / "PG_VERSION").read_text(encoding="ascii").strip()
    program_version = placement.version.split(".", 1)[0]
    if data_version != program_version:
        raise Unavailable(
            f"The database in {placement.cluster_folder} was written by PostgreSQL {data_version}; this is {program_version}. "
            "Dump it with the version that wrote it, move the directory aside, start again and load the dump; "
            f"or set DASHWRIGHT_DATABASE_URL to a server of version {data_version}."
        )


def _write_secret(file: Path, secret: str) -> None:
    """Write a secret to a new file that only its owner may read. A file that an interrupted start has left is replaced."""
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_text(secret, encoding="ascii")
