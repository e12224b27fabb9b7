"""Properties of selectors: parsing, rejection with the position, and the selected objects."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.selectors import NO_FILTER, Operator, Requirement, Selection, VersionList, matches, parse_selection
from dashwright.common.errors import BadRequest

IN, NOT_IN, EXISTS, ABSENT = Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.ABSENT

# Label selectors, and the requirements that they state.
_LABELS = [
    ("", ()),
    ("  ", ()),
    ("a=b", (Requirement("a", IN, ("b",)),)),
    ("a==b", (Requirement("a", IN, ("b",)),)),
    ("a!=b", (Requirement("a", NOT_IN, ("b",)),)),
    ("a=", (Requirement("a", IN, ("",)),)),
    ("a=,b", (Requirement("a", IN, ("",)), Requirement("b", EXISTS))),
    ("a in (b, c)", (Requirement("a", IN, ("b", "c")),)),
    ("a in(b,b)", (Requirement("a", IN, ("b",)),)),
    ("a notin (b,)", (Requirement("a", NOT_IN, ("b", "")),)),
    ("a in (,)", (Requirement("a", IN, ("",)),)),
    ("a", (Requirement("a", EXISTS),)),
    ("!a", (Requirement("a", ABSENT),)),
    (" ! a , in , notin in (in)", (Requirement("a", ABSENT), Requirement("in", EXISTS), Requirement("notin", IN, ("in",)))),
    ("example.com/tier.x_y-z=1", (Requirement("example.com/tier.x_y-z", IN, ("1",)),)),
]


@pytest.mark.parametrize(("text", "requirements"), _LABELS, ids=[text for text, _ in _LABELS])
def test_label_selectors_have_the_meaning_of_kubernetes(text: str, requirements: tuple[Requirement, ...]) -> None:
    """Every form of a requirement is read, with blanks and empty values where they are allowed."""
    assert parse_selection(text, "", "default") == Selection(requirements)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a=b,", 5),
        (",a", 1),
        ("=b", 1),
        ("a b", 3),
        ("a=b c", 5),
        ("a=b=c", 4),
        ("!", 2),
        ("!a=b", 3),
        ("a in", 5),
        ("a in b", 6),
        ("a in ()", 7),
        ("a in (b", 8),
        ("a in (b c)", 9),
        ("a>1", 2),
        ("a<1", 2),
        ("(a)", 1),
    ],
    ids=str,
)
def test_an_invalid_label_selector_is_refused_with_the_position(text: str, position: int) -> None:
    """The error of an invalid selector names its parameter and the position of the unexpected character, from 1."""
    with pytest.raises(BadRequest, match=rf"labelSelector: found .* at character {position}, expected"):
        parse_selection(text, "", "default")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", NO_FILTER),
        (",", NO_FILTER),
        ("metadata.name=a", Selection(name="a")),
        ("metadata.name==a", Selection(name="a")),
        ("metadata.name=a,metadata.name=a", Selection(name="a")),
        ("metadata.name=test-dashboard-", Selection(name="test-dashboard-")),
        ("metadata.name=", Selection(name="")),
        ("metadata.name!=a,metadata.name!=b", Selection(excluded_names=("a", "b"))),
        # A backslash escapes a comma, an equals sign and a backslash.
        (r"metadata.name=a\,b\=c\\", Selection(name="a,b=c\\")),
        ("metadata.namespace=default", NO_FILTER),
        ("metadata.namespace!=org-2", NO_FILTER),
    ],
    ids=str,
)
def test_field_selectors_name_objects_and_namespaces(text: str, expected: Selection) -> None:
    """Field selectors compare names and namespaces, with the escapes of Kubernetes. The namespace of the path has no further effect."""
    assert parse_selection("", text, "default") == expected


@pytest.mark.parametrize(
    "text",
    [
        "metadata.name=a,metadata.name=b",
        "metadata.name=a,metadata.name!=a",
        "metadata.namespace=org-2",
        "metadata.namespace!=default",
        "metadata.namespace=default,metadata.namespace=org-2",
    ],
)
def test_fields_that_exclude_one_another_select_nothing(text: str) -> None:
    """A selector with contradictory fields is valid and selects nothing."""
    selection = parse_selection("", text, "default")
    assert selection.is_empty
    assert not matches(selection, {}, "a")


def test_a_selector_may_name_the_namespace() -> None:
    """Without a namespace in the path, the selector can select one."""
    assert parse_selection("", "metadata.namespace=org-2", "").namespace == "org-2"
    assert parse_selection("", "metadata.namespace!=org-2", "").excluded_namespaces == ("org-2",)
    assert parse_selection("", "metadata.namespace=org-2,metadata.namespace!=org-2", "").is_empty


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("spec.title=x", 1),
        ("metadata.name=a,status.phase=b", 17),
        ("metadata.name", 1),
        ("metadata.name=a=b", 16),
        (r"metadata.name=a\b", 16),
    ],
    ids=str,
)
def test_an_unknown_field_is_rejected(text: str, position: int) -> None:
    """An unknown or malformed field is rejected, because ignoring it would return other objects than requested."""
    with pytest.raises(BadRequest, match=rf"fieldSelector: found .* at character {position}, expected"):
        parse_selection("", text, "default")


def test_special_labels_select_an_id_the_history_or_the_trash() -> None:
    """Special labels select an id, the history or the trash; other requirements are kept."""
    by_id = parse_selection("grafana.app/deprecatedInternalID=17,a=b", "", "default")
    assert by_id.numeric_id == 17
    assert by_id.labels == (Requirement("a", IN, ("b",)),)
    history = parse_selection("grafana.app/get-history=true", "metadata.name=x", "default")
    assert history == Selection(name="x", version_list=VersionList.HISTORY)
    trash = parse_selection("grafana.app/get-trash in (true)", "", "default")
    assert trash.version_list is VersionList.TRASH


@pytest.mark.parametrize(
    "text",
    [
        "grafana.app/deprecatedInternalID=x",
        "grafana.app/deprecatedInternalID=-1",
        "grafana.app/deprecatedInternalID=9223372036854775808",
        "grafana.app/deprecatedInternalID!=1",
        "grafana.app/deprecatedInternalID in (1,2)",
        "grafana.app/deprecatedInternalID=1,grafana.app/deprecatedInternalID=2",
        "grafana.app/get-history=false",
        "!grafana.app/get-trash",
        "grafana.app/get-history=true,grafana.app/get-trash=true",
    ],
)
def test_special_labels_have_one_form(text: str) -> None:
    """A special label is rejected with another operator or value, or together with a contradictory special label."""
    with pytest.raises(BadRequest, match="the labelSelector "):
        parse_selection(text, "", "default")


def test_a_watch_selects_by_the_label_of_an_id() -> None:
    """A watch by id compares the label that contains it."""
    selection = parse_selection("grafana.app/deprecatedInternalID=17", "", "default")
    assert matches(selection, {"grafana.app/deprecatedInternalID": "17"}, "a")
    assert not matches(selection, {"grafana.app/deprecatedInternalID": "18"}, "a")
    assert not matches(selection, {}, "a")


# Requirements as key, operator and values, from few keys and values so that many objects are selected.
_KEYS = st.sampled_from(["a", "b", "x.y/c", "in"])
_VALUES = st.sampled_from(["", "1", "2", "prod"])
_SETS = st.lists(_VALUES, min_size=1, max_size=3)
_SELECTOR_TEXTS: st.SearchStrategy[tuple[str, str, list[str]]] = st.one_of(
    st.tuples(_KEYS, st.sampled_from(["=", "==", "!="]), _VALUES.map(lambda value: [value])),
    st.tuples(_KEYS, st.sampled_from([" in ", " notin "]), _SETS),
    st.tuples(_KEYS, st.just(""), st.just([])),
    st.tuples(_KEYS, st.just("!"), st.just([])),
)


@given(st.lists(_SELECTOR_TEXTS, max_size=4), st.dictionaries(_KEYS, _VALUES))
def test_an_object_is_selected_when_it_meets_every_requirement(
    requirements: list[tuple[str, str, list[str]]], labels: dict[str, str]
) -> None:
    """The selection equals that of a simple evaluator of one requirement at a time."""

    def text(key: str, operator: str, values: list[str]) -> str:
        """Return the text of a requirement."""
        if operator.strip() in ("in", "notin"):
            # A comma is the list of one empty value. Empty parentheses are invalid.
            return f"{key}{operator}({','.join(values) or ','})"
        return f"!{key}" if operator == "!" else key + operator + "".join(values)

    def is_met(key: str, operator: str, values: list[str]) -> bool:
        """Return whether the labels meet a requirement."""
        if operator == "":
            return key in labels
        if operator == "!":
            return key not in labels
        has_listed_value = key in labels and labels[key] in values
        if operator.strip() in ("!=", "notin"):
            return not has_listed_value
        return has_listed_value

    selection = parse_selection(",".join(text(*requirement) for requirement in requirements), "", "default")
    assert matches(selection, labels, "anything") == all(is_met(*requirement) for requirement in requirements)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_read_or_refused(labels: str, fields: str) -> None:
    """No selector causes an internal error."""
    with contextlib.suppress(BadRequest):
        matches(parse_selection(labels, fields, "default"), {}, "a")
