"""Rules on paths and refs. Their messages are those that clients of the files API expect."""

from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.kinds.branches import is_branch
from dashwright.common.models.provisioning import RepositorySpec, RepositoryType

_MAX_QUOTED_CHARACTERS: Final = 80
"""Limit on the characters of a ref that an error quotes."""


def check_extension(path: str, *, allow_markdown: bool = False) -> None:
    """Raise BadRequest for an invalid path, and for a file that cannot hold a resource and is not a permitted Markdown file."""
    paths.check_path(path)
    if path == paths.FOLDER_FILE:
        raise BadRequest("the root of a repository has no _folder.json: its folder has the name and title of the repository")
    if not (
        paths.is_directory(path) or paths.is_resource(path) or paths.is_folder_file(path) or (allow_markdown and paths.is_markdown(path))
    ):
        raise BadRequest(f"unsupported file extension: names end in {', '.join(paths.RESOURCE_SUFFIXES)}, those of directories in a slash")


def effective_ref(spec: RepositorySpec, ref: str) -> str:
    """Return ``ref``, or an empty string if it is the repository's own branch.

    Raises BadRequest for a ref of a local directory and for an invalid ref.
    """
    if ref and spec.type is RepositoryType.LOCAL:
        raise BadRequest("local repository does not support ref: leave it out")
    if ref and not is_branch(ref):
        raise BadRequest(f"ref {ref[:_MAX_QUOTED_CHARACTERS]!r} is neither a branch name nor a commit")
    return "" if spec.remote is not None and ref == spec.remote.branch else ref
