"""List: the objects of a namespace by name, in pages or whole."""

from dashwright.api.domain.selectors import parse_selection
from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Operation
from dashwright.api.resources import described, pages, past
from dashwright.api.resources.services import Services
from dashwright.api.resources.target import Target


def operation(target: Target) -> Operation:
    query = {"limit": "how many at most", "continue": "the token that the page before ended with"}
    return described.operation("list", target, query=query, answers={200: described.listed(target.kind)})


async def handle(target: Target, services: Services, call: Call) -> Answer:
    selection = parse_selection(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), call.parameters["namespace"])
    if selection.special is not None:
        return await past.answer(target, services, call, selection.special, selection.name)
    kind, version, namespace, limit = target.kind, target.version, call.parameters["namespace"], pages.limit_of(call)

    async def read(after: str, count: int) -> pages.ListedPage:
        return await services.shelves[target.kind.shelf].list_page(kind, namespace, version, after, count)

    first = await read(pages.after_of(call), min(limit or pages.PAGE, pages.LARGEST_PAGE))
    if limit is None and first.after is not None:
        return Answer(200, pages.stream(kind, version, first, read))
    return Answer(200, pages.encode_page(kind, version, first))
