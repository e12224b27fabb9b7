"""Which files may be named, and which refs written, in the words that clients of the files API know."""

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.kinds.branches import is_branch
from dashwright.common.models.provisioning import RepositorySpec, RepositoryType


def check_name(path: str, *, reading: bool = False) -> None:
    """Raises BadRequest for a path that is no directory and no file that may hold a resource, nor when ``reading`` a text for people."""
    paths.check_path(path)
    if not (paths.is_directory(path) or paths.is_resource(path) or (reading and paths.is_markdown(path))):
        raise BadRequest(f"unsupported file extension: names end in {', '.join(paths.RESOURCE_SUFFIXES)}, those of directories in a slash")


def ref_of(spec: RepositorySpec, ref: str) -> str:
    """The ref that is meant: the repository's own branch, named, is the empty one. Raises BadRequest for a folder's, or what is none."""
    if ref and spec.type is RepositoryType.LOCAL:
        raise BadRequest("local repository does not support ref")
    if ref and not is_branch(ref):
        raise BadRequest(f"ref {ref[:80]!r} is no name of a branch, and no commit")
    return "" if spec.remote is not None and ref == spec.remote.branch else ref
