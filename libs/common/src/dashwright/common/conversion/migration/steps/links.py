"""Migrations of links."""

import re
from collections.abc import Callable
from typing import Any

from dashwright.common.conversion.migration.document import Object, copy_list, copy_object, is_true, object_at, objects, text

_NOT_IN_SLUG = re.compile("[^a-z0-9_ ]+")
_SPACES = re.compile(" +")
_OLD_NAME = re.compile(r"\$?__(?:series_name|field_name)|__value_time")


def give_links_a_url(panel: Object) -> None:
    """Replace the members that describe the target of a link by one URL (version 19)."""
    links = panel.get("links")
    if isinstance(links, list):
        panel["links"] = [_with_url(link) for link in objects(links)]


def _with_url(link: Object) -> Object:
    """Return a link whose URL has the target, the options as parameters, and the parameters of the link."""
    url = text(link, "url")
    # Old versions of Grafana address a dashboard by the slug of its title.
    if not url and (dashboard := text(link, "dashboard")):
        url = "dashboard/db/" + _SPACES.sub("-", _NOT_IN_SLUG.sub("", dashboard.lower()))
    elif not url and (path := text(link, "dashUri")):
        url = "dashboard/" + path
    parameters = []
    if is_true(link, "keepTime"):
        parameters.append("$__url_time_range")
    if is_true(link, "includeVars"):
        parameters.append("$__all_variables")
    if own_parameters := text(link, "params"):
        parameters.append(own_parameters)
    query = f"?{'&'.join(parameters)}" if parameters else ""
    upgraded: Object = {"url": (url or "/") + query, "title": text(link, "title")}
    if is_true(link, "targetBlank"):
        upgraded["targetBlank"] = True
    return upgraded


def use_dotted_names(panel: Object) -> None:
    """Replace names such as ``__series_name`` in data links and titles of fields (version 20)."""
    _change_data_links(panel, _with_dotted_names)
    title = (object_at(panel, "options", "fieldOptions", "defaults") or {}).get("title")
    if isinstance(title, str) and (changed := _with_dotted_names(title)) != title:
        defaults = _copy_field_defaults(panel)
        if defaults is not None:
            defaults["title"] = changed


def _with_dotted_names(template: str) -> str:
    """Return a template with ``__series.name`` for ``__series_name``, and ``${__series.name}`` for ``$__series_name``."""
    return _OLD_NAME.sub(lambda match: _dotted(match[0]), template)


def _dotted(name: str) -> str:
    dotted = "__" + name.lstrip("$_").replace("_", ".")
    return f"${{{dotted}}}" if name.startswith("$") else dotted


def use_labels_of_fields(panel: Object) -> None:
    """Replace the labels of series by those of fields in data links (version 21)."""
    _change_data_links(panel, lambda url: url.replace("__series.labels", "__field.labels"))


def _change_data_links(panel: Object, change: Callable[[str], str]) -> None:
    """Change the URLs of all data links of a panel."""
    options = object_at(panel, "options")
    if options is not None and _is_changed(options.get("dataLinks"), change):
        _change_urls(copy_object(panel, "options"), "dataLinks", change)
    defaults = object_at(options, "fieldOptions", "defaults")
    if defaults is not None and _is_changed(defaults.get("links"), change):
        _change_urls(_copy_field_defaults(panel), "links", change)


def _is_changed(links: Any, change: Callable[[str], str]) -> bool:
    """Return whether a change has an effect on any of the links. Without one, no copy is needed."""
    return any(change(text(link, "url")) != text(link, "url") for link in objects(links))


def _change_urls(holder: Object | None, name: str, change: Callable[[str], str]) -> None:
    """Change the URLs of the links in a member of an object. Do nothing without an object."""
    for link in objects(copy_list(holder, name) if holder is not None else None):
        if isinstance(link.get("url"), str):
            link["url"] = change(link["url"])


def _copy_field_defaults(panel: Object) -> Object | None:
    """Replace the defaults of fields, and the objects that contain them, by copies. Return the copy of the defaults, or None."""
    options = copy_object(panel, "options")
    fields = copy_object(options, "fieldOptions") if options is not None else None
    return copy_object(fields, "defaults") if fields is not None else None
