"""Status: the object whole, at the address that those ask who look for its status only."""

from dashwright.api.http.routing import Operation
from dashwright.api.resources import described
from dashwright.api.resources.target import Target
from dashwright.api.resources.verbs import get

handle = get.handle


def operation(target: Target) -> Operation:
    return described.operation(
        "get", target, below="Status", query=described.INCLUDED, answers={200: described.in_formats(target.kind)}, errors=(404, 406)
    )
