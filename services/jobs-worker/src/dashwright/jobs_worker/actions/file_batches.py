"""The reading of the files of a sync, batch by batch, and the records of files that cannot be stored."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from dashwright.common.errors import BadRequest, DashwrightError, Invalid, TooLarge
from dashwright.common.jobs import paths
from dashwright.jobs_worker.domain.file_resources import FileResources, read_resources
from dashwright.jobs_worker.domain.objects import File, Key, ManagedObject, QuarantinedFile
from dashwright.jobs_worker.domain.plan import PreparedFile
from dashwright.jobs_worker.domain.recognition import NoResource
from dashwright.jobs_worker.domain.resource import ResourceReader
from dashwright.jobs_worker.domain.scan import Candidate, Fault, IgnoredFile, Scan
from dashwright.jobs_worker.ports import Spool

_MAX_MESSAGE_CHARACTERS: Final = 1000


def read_batch(
    candidates: Sequence[Candidate], read_file: Callable[[str, str], File], reader: ResourceReader, spool: Spool, scan: Scan
) -> list[PreparedFile]:
    """Read each file once, and return the resources in the files.

    Faults, and files without a resource, are added to ``scan``. The files are read in reverse order: in a git pack, the
    later of two similar files is stored completely and the earlier one as a delta to it. The base of the delta is then
    still cached.
    """
    prepared_files: list[PreparedFile] = []
    faults: list[Fault] = []
    for candidate in reversed(candidates):
        checksum = ""
        try:
            file = read_file(candidate.path, candidate.checksum)
            # Of two equal strings the candidate's is used, so that memory contains only one of them.
            checksum = candidate.checksum if file.checksum == candidate.checksum else file.checksum
            content = read_resources(reader, candidate.path, file.body)
            prepared_files += reversed([*_prepared_files(candidate, checksum, content, spool)])
            scan.directories.update(paths.directories(candidate.path))
            if content.fault:
                faults.append(_partial_fault(candidate, checksum, content))
            if content.remark:
                scan.ignored.append(IgnoredFile(candidate.path, _printable(content.remark)))
        except NoResource as no_resource:
            if candidate.stored_objects:
                faults.append(Fault(candidate.path, _emptied_message(no_resource, candidate), candidate.stored_objects))
            else:
                scan.ignored.append(IgnoredFile(candidate.path, _printable(no_resource.remark)))
        except DashwrightError as fault:
            # A server error ends the job. Any other error is a fault of the file, which its author can fix.
            if fault.is_server_error:
                raise
            is_lasting = isinstance(fault, BadRequest | Invalid | TooLarge)
            faults.append(
                Fault(candidate.path, _printable(fault.message), candidate.stored_objects, checksum=checksum, is_lasting=is_lasting)
            )
    scan.faults += faults[::-1]
    return prepared_files[::-1]


def quarantined_file(faults: Sequence[Fault], fingerprint: str) -> QuarantinedFile:
    """Return the entry of a file in quarantine. Its documents may have several ``faults``.

    ``fingerprint`` is that of the rules for files.
    """
    first, *further_faults = sorted(faults, key=lambda fault: (fault.message, fault.name))
    if not further_faults:
        return QuarantinedFile(first.path, first.message, first.name, first.checksum, fingerprint if first.is_lasting else "")
    return QuarantinedFile(first.path, _printable("; ".join(fault.message for fault in (first, *further_faults))), first.name)


def _prepared_files(candidate: Candidate, checksum: str, content: FileResources, spool: Spool) -> Iterator[PreparedFile]:
    """Yield the resources of a file, each with the stored objects that are kept if it is refused.

    A resource keeps the object with its name. A resource without such an object, or whose name an earlier document has, keeps the
    objects of the file that no resource names.
    """
    has_one_resource = len(content.resources) == 1 and not content.fault
    unnamed_objects = _unnamed_objects(candidate, content)
    earlier_keys: set[Key] = set()
    for resource in content.resources:
        own_objects = tuple(item for item in candidate.stored_objects if item.key == resource.key and resource.key not in earlier_keys)
        earlier_keys.add(resource.key)
        stored_objects = candidate.stored_objects if has_one_resource else own_objects or unnamed_objects
        yield PreparedFile(candidate.path, checksum, resource.key, stored_objects, spool.put(resource.to_bytes()))


def _unnamed_objects(candidate: Candidate, content: FileResources) -> tuple[ManagedObject, ...]:
    """Return the objects that are stored from the file, but which no valid document names."""
    keys = {resource.key for resource in content.resources}
    return tuple(item for item in candidate.stored_objects if item.key not in keys)


def _partial_fault(candidate: Candidate, checksum: str, content: FileResources) -> Fault:
    """Return the fault of a file with valid and invalid documents. The objects that no valid document names are kept."""
    return Fault(
        candidate.path,
        _printable(content.fault),
        _unnamed_objects(candidate, content),
        checksum=checksum,
        is_lasting=True,
        is_partial=True,
    )


def _emptied_message(no_resource: NoResource, candidate: Candidate) -> str:
    """Return the message for a file that has no resource now, although an object is stored from it.

    The file may have been truncated by mistake, so the object is kept until the file is deleted.
    """
    return _printable(
        f"{no_resource.message}, but {candidate.stored_objects[0].key.name!r} is stored from it: delete the file to delete the object"
    )


def _printable(message: str) -> str:
    """Return a message in a form that can be stored: messages may quote any bytes of a file."""
    return message[:_MAX_MESSAGE_CHARACTERS].encode(errors="backslashreplace").decode().replace("\0", "\\0")
