"""Calls of the gateway to the jobs worker about repositories.

Only the jobs worker reads local directories and connects to git hosts.
"""

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.models.repository_views import ResourceWrapper


class TrialRequest(ApiModel):
    """Request to test a configuration; the response is a TrialResponse. The token in it is sealed for this namespace and name."""

    call: Literal["trial"] = "trial"
    namespace: str
    name: str
    spec: RepositorySpec


class TrialResponse(ApiModel):
    """Result of a test: the path of the invalid field and an error message. Both are None if the repository can be read."""

    field: str | None = None
    message: str | None = None


class RefsRequest(ApiModel):
    """Request for the branches of a stored repository; the response is a RefList."""

    call: Literal["refs"] = "refs"
    namespace: str
    name: str


class HistoryRequest(ApiModel):
    """Request for the commits of a stored repository; the response is a HistoryList.

    With a ``path``, only commits that change it are returned. ``ref`` is a branch or a commit, empty for the synced branch.
    """

    call: Literal["history"] = "history"
    namespace: str
    name: str
    path: str = ""
    ref: str = ""


class FilesRequest(ApiModel):
    """Request for the files at a ref (empty: the synced branch) below a directory; the response is a FileList."""

    call: Literal["files"] = "files"
    namespace: str
    name: str
    path: str = ""
    ref: str = ""


class Touch(ApiModel):
    """Access to an object through its file. The gateway checks the caller's right to it."""

    verb: str  #: get, create, update or delete.
    group: str
    resource: str
    name: str  #: Empty for all objects of this kind in the folder.
    folder: str | None = None  #: Nearest existing folder; None for the root.


class FileRequest(ApiModel):
    """Request for the content of a file and the object that it would store; the response is a FileResponse.

    ``with_removed`` also requests the dashboard that is stored from a file which is missing at ``ref``.
    """

    call: Literal["file"] = "file"
    namespace: str
    name: str
    path: str
    ref: str = ""
    with_removed: bool = False


class FileResponse(ApiModel):
    """Content of a file. ``touches`` lists the objects in ``wrapper``, which the caller must have the right to read."""

    wrapper: ResourceWrapper
    touches: list[Touch]
    moved_to: str = ""  #: The file from which the dashboard of a missing file would be stored; empty if it would be deleted.


class ChangeMethod(StrEnum):
    """Kind of a change to a file."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    MOVE = "move"


class CommitAuthor(ApiModel):
    """Author of a commit."""

    name: str
    email: str
    uid: str  #: Author of the changed objects in the store, such as ``user:1``.
    #: Time of the commit in Unix seconds, taken from the request, so that a repeated request finds the commit. 0: any time.
    at: int = 0


class ChangeRequest(ApiModel):
    """Request to write, remove or move a file or directory; the response is a ChangeResponse.

    Without ``base``, the response describes the effect and nothing is changed. With the ``base`` of such a response, the
    worker makes the change, or raises Conflict if the repository has changed since.
    """

    call: Literal["change"] = "change"
    namespace: str
    name: str
    method: Annotated[ChangeMethod, Field(strict=False)]
    path: str
    ref: str = ""  #: Branch, which is created if missing; empty for the synced branch.
    original_path: str = ""  #: Path before a move.
    content: str | None = None  #: New content of the file; None for deletions and moves without changes.
    message: str = ""
    author: CommitAuthor
    base: str = ""


class ChangeResponse(ApiModel):
    """Effect of a change."""

    base: str  #: Fingerprint of the state of the repository, of the change, and of the affected objects.
    content: str | None = None  #: Content to send in the request with ``base``.
    wrapper: ResourceWrapper
    touches: list[Touch]  #: All accesses whose permissions the caller needs.


class EditedObject(ApiModel):
    """New state of a managed object, as requested by a caller."""

    version: str
    name: str
    spec: str  #: Spec as JSON text, which keeps the digits of numbers as the client sent them.
    labels: dict[str, str]
    annotations: dict[str, str]
    folder: str | None = None  #: None at the root.


class EditRequest(ApiModel):
    """Request to change a managed object, or to delete it if ``edited`` is None; the response is an EditResponse.

    The gateway has checked the caller's rights. The worker writes the file at ``path``, then the object, or raises Conflict
    if the file's hash is not ``checksum``. With ``dry_run`` it writes neither.
    """

    call: Literal["edit"] = "edit"
    namespace: str
    name: str
    path: str
    checksum: str
    resource: str = "dashboards"  #: Plural name of the object's kind.
    object_name: str = ""  #: Name of the object. A file may contain several.
    edited: EditedObject | None = None
    message: str = ""
    author: CommitAuthor
    dry_run: bool = False


class EditResponse(ApiModel):
    """Result of an edit. ``ref`` is the commit. It is empty for a local repository, a dry run, or if nothing changed."""

    ref: str = ""


class PlanRequest(ApiModel):
    """Request for the effects of a sync; the response is a SyncPlan. Without ``with_items`` it has counts only.

    ``ref`` is a branch or a commit, which may be an earlier one; empty for the synced branch.
    """

    call: Literal["plan"] = "plan"
    namespace: str
    name: str
    ref: str = ""
    with_items: bool = True


RepositoryRequest: TypeAlias = Annotated[
    TrialRequest | RefsRequest | HistoryRequest | FilesRequest | FileRequest | ChangeRequest | EditRequest | PlanRequest,
    Field(discriminator="call"),
]
