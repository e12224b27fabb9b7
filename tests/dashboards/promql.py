"""Labels of the series that a query in PromQL, LogQL or MetricsQL returns, as far as its text names them."""

import re
from typing import Final

_AGGREGATIONS: Final = frozenset(
    {"sum", "avg", "min", "max", "count", "group", "stddev", "stdvar", "quantile", "count_values", "median", "distinct", "any", "share"}
    | {"topk", "bottomk", "limitk", "outliersk"}
)
#: Aggregations that keep the series of their argument.
_SELECTIONS: Final = frozenset({"topk", "bottomk", "limitk", "outliersk"})
#: Functions whose result has no labels.
_WITHOUT_LABELS: Final = frozenset({"vector", "scalar", "time", "pi"})
_NAME: Final = re.compile(r"[A-Za-z_:][\w:.]*")
_BY: Final = re.compile(r"\s*(by|without)\s*\(([^()]*)\)", re.IGNORECASE)
_MATCHER: Final = re.compile(r"([A-Za-z_][\w.]*)\s*(=~|!~|!=|=)\s*\"((?:[^\"\\]|\\.)*)\"")
#: Signs, and a constant with its operator, before the first operand that has labels, such as ``100 * ``.
_OPERAND_PREFIX: Final = re.compile(r"[-+\s]*(?:\d[\w.]*\s*[-+*/%^]\s*)?")
_OPERATOR: Final = re.compile(r"\s*[-+*/%^]\s*")
#: The templates of MetricsQL: ``WITH (…)``.
_TEMPLATE: Final = re.compile(r"\s*with\s*\(", re.IGNORECASE)
_REPLACEMENT: Final = re.compile(r"\blabel_(?:replace|join|set|format)\s*\(.*?,\s*\"([A-Za-z_]\w*)\"\s*,\s*\"([^\"]*)\"", re.DOTALL)
_GROUP_MODIFIER: Final = re.compile(r"\bgroup_(?:left|right)\s*\(([^()]*)\)")
#: A regular expression that only lists values, such as ``(a|b)``.
_ALTERNATIVES: Final = re.compile(r"\(?[\w./ -]+(?:\|[\w./ -]+)*\)?")
#: The deepest nesting that is read, since this parser is recursive.
_MAX_DEPTH: Final = 30


def label_names(query: str, extra_labels: list[str]) -> list[str]:
    """Return the names of the labels. ``extra_labels`` are names that a selector without aggregation may have in addition."""
    names: list[str] = _label_names_of(query.strip(), extra_labels, 0)
    if _TEMPLATE.match(query):
        # The labels of templates are those of all of their aggregations.
        names = [label for matched in _BY.finditer(query) for label in _split(matched[2])]
    names += [name for name, _ in _REPLACEMENT.findall(query)]
    for added_names in _GROUP_MODIFIER.findall(query):
        names += _split(added_names)
    return list(dict.fromkeys(names))


def label_values(query: str, name: str, count: int) -> list[str]:
    """Return up to ``count`` values of a label: those that the query selects, else numbered ones."""
    labels_and_replacements = [(match[1], match[2]) for match in _REPLACEMENT.finditer(query)]
    if replacements := [value for replaced_name, value in labels_and_replacements if replaced_name == name and value and "$" not in value]:
        return list(dict.fromkeys(replacements))[:count]
    for matched, operator, value in _MATCHER.findall(query):
        if matched == name and operator == "=" and value:
            return [value]
        if matched == name and operator == "=~" and _ALTERNATIVES.fullmatch(value):
            return str(value).strip("()").split("|")[:count]
    return [f"{name}-{number}" for number in range(1, count + 1)]


def _label_names_of(query: str, extra_labels: list[str], depth: int) -> list[str]:
    """Return the labels of the first operand of an expression."""
    prefix = _OPERAND_PREFIX.match(query)
    query = query[prefix.end() :] if prefix else query
    if not query or depth > _MAX_DEPTH:
        return []
    if query[0] == "(":
        return _label_names_of(query[1 : _closing_bracket(query, 0)].strip(), extra_labels, depth + 1)
    name = _NAME.match(query)
    # A selector, or an aggregation whose clause ``by (…)`` precedes its argument.
    if name is None or name.end() == len(query) or query[name.end()] in "{[ \n":
        labels = _aggregation_labels(query, name.end(), name[0], extra_labels, depth) if name and name[0].lower() in _AGGREGATIONS else None
        return _selector_labels(query, extra_labels) if labels is None else labels
    if query[name.end()] != "(":
        return _selector_labels(query, extra_labels)
    if name[0].lower() in _AGGREGATIONS:
        labels = _aggregation_labels(query, name.end(), name[0], extra_labels, depth)
        return [] if labels is None else labels
    if name[0] in _WITHOUT_LABELS:
        next_operator = _OPERATOR.match(query, _closing_bracket(query, name.end()) + 1)
        return _label_names_of(query[next_operator.end() :], extra_labels, depth + 1) if next_operator else []
    labels = _labels_of_argument(query[name.end() + 1 : _closing_bracket(query, name.end())], extra_labels, depth)
    return [label for label in labels if label != "le"] if name[0] == "histogram_quantile" else labels


def _aggregation_labels(query: str, start: int, name: str, extra_labels: list[str], depth: int) -> list[str] | None:
    """Return the labels of an aggregation whose name ends at ``start``; None for another expression."""
    clause_before = _BY.match(query, start)
    opening = query.find("(", clause_before.end() if clause_before else start)
    if opening < 0 or query[clause_before.end() if clause_before else start : opening].strip():
        return None
    closing = _closing_bracket(query, opening)
    clause = clause_before or _BY.match(query, closing + 1)
    labels_of_argument = _labels_of_argument(query[opening + 1 : closing], extra_labels, depth)
    if name.lower() in _SELECTIONS and clause is None:
        return labels_of_argument
    if clause is None:
        return []
    clause_labels = _split(clause[2])
    return clause_labels if clause[1].lower() == "by" else [label for label in labels_of_argument if label not in clause_labels]


def _labels_of_argument(text: str, extra_labels: list[str], depth: int) -> list[str]:
    """Return the labels of the first argument that is neither a number nor a text."""
    for argument in _arguments(text):
        if argument and not re.fullmatch(r"[\d.eE+-]+|\".*\"|'.*'", argument, re.DOTALL):
            return _label_names_of(argument, extra_labels, depth + 1)
    return []


def _selector_labels(query: str, extra_labels: list[str]) -> list[str]:
    """Return the labels that the matchers of a selector name, and ``extra_labels``."""
    names = [name for name, _, _ in _MATCHER.findall(query) if name != "__name__"]
    return [*names, *extra_labels]


def _split(names: str) -> list[str]:
    """Return the names in a list that is separated by commas."""
    return [name.strip().strip('"') for name in names.split(",") if name.strip()]


def _arguments(text: str) -> list[str]:
    """Return the arguments of a function, split at commas outside of brackets and texts."""
    arguments, start, index = [], 0, 0
    while index < len(text):
        if text[index] in "({[":
            index = _closing_bracket(text, index)
        elif text[index] in "\"'`":
            index = _end_of_text(text, index)
        elif text[index] == ",":
            arguments.append(text[start:index].strip())
            start = index + 1
        index += 1
    return [*arguments, text[start:].strip()]


def _closing_bracket(text: str, opening: int) -> int:
    """Return the position of the bracket that closes the one at ``opening``, or the end of the text."""
    depth, index = 0, opening
    while index < len(text):
        if text[index] in "({[":
            depth += 1
        elif text[index] in ")}]":
            depth -= 1
            if depth == 0:
                return index
        elif text[index] in "\"'`":
            index = _end_of_text(text, index)
        index += 1
    return len(text)


def _end_of_text(text: str, start: int) -> int:
    """Return the position of the quote that closes the one at ``start``. A backslash escapes the next character."""
    index = start + 1
    while index < len(text) and text[index] != text[start]:
        index += 2 if text[index] == "\\" else 1
    return index
