"""Requests of the gateway to the jobs worker about repositories.

Only the worker reads folders and connects to git hosts.
"""

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.models.repository_views import ResourceWrapper
from dashwright.common.models.shape import Shape


class TrialRequest(Shape):
    """Request to test a configuration; the response is a TrialResponse. Its token is sealed for a repository of this name."""

    call: Literal["trial"] = "trial"
    namespace: str
    name: str
    spec: RepositorySpec


class TrialResponse(Shape):
    """Result of a test: ``field`` is what is wrong, ``message`` how. Neither is set if the repository can be read."""

    field: str | None = None
    message: str | None = None


class RefsRequest(Shape):
    """Request for the branches of a stored repository; the response is a RefList."""

    call: Literal["refs"] = "refs"
    namespace: str
    name: str


class HistoryRequest(Shape):
    """Request for the commits of a stored repository, or those that touch a path; the response is a HistoryList.

    ``ref`` is a branch or a commit, empty for the synced branch.
    """

    call: Literal["history"] = "history"
    namespace: str
    name: str
    path: str = ""
    ref: str = ""


class FilesRequest(Shape):
    """Request for the files at a ref (empty: the synced branch) below a directory; the response is a FileList."""

    call: Literal["files"] = "files"
    namespace: str
    name: str
    path: str = ""
    ref: str = ""


class Touch(Shape):
    """Effect on an object by way of its file, for checking the caller's rights."""

    verb: str  #: get, create, update or delete.
    group: str
    resource: str
    name: str  #: Empty: every object of this kind in the folder.
    folder: str | None = None  #: Nearest stored folder; None at the root.


class FileRequest(Shape):
    """Request for the content of a file and its effect; the response is a FileResponse."""

    call: Literal["file"] = "file"
    namespace: str
    name: str
    path: str
    ref: str = ""


class FileResponse(Shape):
    """Content of a file. ``touches`` are the objects that the wrapper shows."""

    wrapper: ResourceWrapper
    touches: list[Touch]


class ChangeMethod(StrEnum):
    """Kind of a change to a file."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    MOVE = "move"


class CommitAuthor(Shape):
    """Author of a commit."""

    name: str
    email: str
    uid: str  #: Actor in the store (``user:1``), recorded for the changed objects.
    #: Unix seconds of the request, used as the time of the commit, so that a repeated request finds it. 0: any time.
    at: int = 0


class ChangeRequest(Shape):
    """Request to write, remove or move a file or directory; the response is a ChangeResponse.

    Without a ``base`` nothing is changed, and the response describes the effect. With the ``base`` of such a response
    the change is made if the repository is unchanged since; otherwise Conflict is raised.
    """

    call: Literal["change"] = "change"
    namespace: str
    name: str
    method: Annotated[ChangeMethod, Field(strict=False)]
    path: str
    ref: str = ""  #: Branch, created if missing; empty for the synced branch.
    original_path: str = ""  #: Source of a move.
    content: str | None = None  #: Text to write, if any.
    message: str = ""
    author: CommitAuthor
    base: str = ""


class ChangeResponse(Shape):
    """Effect of a change."""

    base: str  #: Identifies the examined state of the repository, the change, and what it touches.
    content: str | None = None  #: Content to send together with ``base``.
    wrapper: ResourceWrapper
    touches: list[Touch]  #: Everything that the caller needs rights to.


class EditedObject(Shape):
    """Managed object as a caller wants it."""

    version: str
    name: str
    spec: str  #: Body to store, as JSON text: what is sent is what is written, digit by digit.
    labels: dict[str, str]
    annotations: dict[str, str]
    folder: str | None = None  #: None at the root.


class EditRequest(Shape):
    """Request to change a managed object, or to delete it with ``edited`` None; the response is an EditResponse.

    The gateway has checked the caller's rights. The file at ``path`` is written first, then the object; raises Conflict
    if the file's hash is not ``checksum``. With ``dry_run`` neither is written.
    """

    call: Literal["edit"] = "edit"
    namespace: str
    name: str
    path: str
    checksum: str
    edited: EditedObject | None = None
    message: str = ""
    author: CommitAuthor
    dry_run: bool = False


class EditResponse(Shape):
    """Result of an edit. ``ref`` is its commit; empty for a folder, or if nothing changed."""

    ref: str = ""


class PlanRequest(Shape):
    """Request for the effects of a sync; the response is a SyncPlan, which without ``with_items`` only counts.

    ``ref`` is a branch or commit, also one that was synced before; empty for the synced branch.
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
