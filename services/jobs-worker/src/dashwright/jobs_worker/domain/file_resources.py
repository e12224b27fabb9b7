"""All resources of a file. A YAML file may have many documents, and each of them may be a resource."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from dashwright.common.errors import DashwrightError, Invalid
from dashwright.jobs_worker.domain.file_forms import check_size, decode_text
from dashwright.jobs_worker.domain.objects import Key
from dashwright.jobs_worker.domain.recognition import NoResource
from dashwright.jobs_worker.domain.resource import Resource, ResourceReader
from dashwright.jobs_worker.domain.yaml_documents import YamlDocument, split_documents

_MAX_MESSAGES: Final = 5
"""Limit on the documents whose faults are described."""


@dataclass(frozen=True, slots=True)
class FileResources:
    """The content of a file: at least one resource, and the faults of its other documents."""

    resources: Sequence[Resource]
    #: Faults of invalid documents, empty if all are valid.
    fault: str = ""
    #: Hint on the documents without a resource, or empty.
    remark: str = ""


def read_resources(reader: ResourceReader, path: str, body: bytes) -> FileResources:
    """Return the resources of a file.

    Raises NoResource, Invalid, TooLarge or BadRequest, like ``ResourceReader.read``, if the file has no valid resource.
    """
    text, documents = documents_of(reader, path, body)
    if len(documents) < 2:
        return FileResources([reader.read(path, body)])
    resources: list[Resource] = []
    faults: list[str] = []
    remarks: list[str] = []
    for document in documents:
        try:
            resources.append(_read_document(reader, path, text, document, names_lines=len(faults) < _MAX_MESSAGES))
        except NoResource as no_resource:
            if no_resource.remark:
                remarks.append(f"document {document.number} at line {document.line}: {no_resource.remark}")
        except DashwrightError as fault:
            if fault.is_server_error:
                raise
            faults.append(f"document {document.number} at line {document.line}: {fault.message}")
    if not resources and not faults:
        raise NoResource("none of its documents holds a dashboard or another resource", _joined(remarks))
    if not resources:
        raise Invalid(_joined(faults))
    return FileResources(resources, _joined(faults), _joined(remarks))


def documents_of(reader: ResourceReader, path: str, body: bytes) -> tuple[str, Sequence[YamlDocument]]:
    """Return the text of a YAML file and its documents. For JSON, both are empty. Raises Invalid or TooLarge."""
    check_size(len(body), reader.max_file_bytes)
    if path.endswith(".json"):
        return "", ()
    text = decode_text(body)
    return text, split_documents(text)


def document_of(reader: ResourceReader, path: str, body: bytes, key: Key) -> tuple[str, YamlDocument] | None:
    """Return the text of a file and the document of an object in it; None if the file has only one document.

    Raises Invalid if none of the documents is the object.
    """
    text, documents = documents_of(reader, path, body)
    if len(documents) < 2:
        return None
    for document in documents:
        try:
            if _read_document(reader, path, text, document, names_lines=False).key == key:
                return text, document
        except DashwrightError as fault:
            if fault.is_server_error:
                raise
            # An invalid document cannot be the stored object.
    raise Invalid(f"none of the documents of {path} is {key.name!r}: sync the repository, then read the object again and repeat the change")


def _read_document(reader: ResourceReader, path: str, text: str, document: YamlDocument, *, names_lines: bool) -> Resource:
    """Return the resource of a document, which must name its object. With ``names_lines``, errors name lines of the file.

    Without, errors name lines of the document. Raises the errors of ``ResourceReader.read``.
    """
    named_reader = replace(reader, needs_names=True)
    try:
        return named_reader.read_text(path, document.content(text))
    except NoResource:
        raise
    except Invalid:
        if not names_lines:
            raise
        # The padding of a late document is almost as long as the file, so callers let only a few documents be read again.
        return named_reader.read_text(path, document.padded_content(text))


def _joined(messages: Sequence[str]) -> str:
    text = "; ".join(messages[:_MAX_MESSAGES])
    return text if len(messages) <= _MAX_MESSAGES else f"{text}; and {len(messages) - _MAX_MESSAGES} more documents"
