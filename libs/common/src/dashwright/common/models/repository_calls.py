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
    """Which commits a stored repository has, or those that touch a path; the answer is a HistoryList.

    ``ref`` is a branch or a commit, empty for the repository's own branch.
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
    """What is done to an object by way of its file, for whoever judges the caller's rights.

    ``verb`` is get, create, update or delete; ``folder`` the nearest folder that is stored, None at the root. Without a ``name`` it is
    whatever lies there.
    """

    verb: str
    group: str
    resource: str
    name: str
    folder: str | None = None


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
    """Who a commit is by, and by which name the store knows them (``user:1``): as who they change objects.

    ``at``, Unix seconds, is when they asked for it: the time of the commit, so that it is known again. 0 is any time.
    """

    name: str
    email: str
    uid: str
    at: int = 0


class ChangeRequest(Shape):
    """A file or directory to write, remove or move; the answer is a ChangeAnswer.

    Without a ``base`` nothing is changed: it is told what would be. With one, that of such an answer, it is done, if the repository is
    still as it was then (Conflict where not: ask again). ``ref`` is a branch, made where there is none; empty for the repository's own.
    ``original_path`` is where a move comes from; ``content`` is text, None where there is none to write.
    """

    call: Literal["change"] = "change"
    namespace: str
    name: str
    method: Annotated[ChangeMethod, Field(strict=False)]
    path: str
    ref: str = ""
    original_path: str = ""
    content: str | None = None
    message: str = ""
    author: CommitAuthor
    base: str = ""


class ChangeResponse(Shape):
    """``content`` is what has to be sent with ``base``; ``touches`` is everything that the caller must have the right to.

    ``base`` stands for the repository, the change, and what it touches, as they were looked at.
    """

    base: str
    content: str | None = None
    wrapper: ResourceWrapper
    touches: list[Touch]


class EditedObject(Shape):
    """A managed object as a caller wants it. ``folder`` is None at the root; labels and annotations are the caller's own.

    ``spec`` is the body to store, as JSON text: what is sent is what is written, digit by digit.
    """

    version: str
    name: str
    spec: str
    labels: dict[str, str]
    annotations: dict[str, str]
    folder: str | None = None


class EditRequest(Shape):
    """A managed object that somebody changes, or with ``edited`` None removes, who has the right to; the answer is an EditAnswer.

    Its file is written (``path``, Conflict where its hash is not ``checksum``), then the object. ``dry_run``: neither is.
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
    """``ref`` is the commit that the change was made by, empty of a folder and where nothing was to be changed."""

    ref: str = ""


class PlanRequest(Shape):
    """What a sync would do now; the answer is a SyncPlan, without ``with_items`` one that only counts.

    ``ref`` is a branch or commit, also one that was synced once; empty for the repository's own branch.
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
