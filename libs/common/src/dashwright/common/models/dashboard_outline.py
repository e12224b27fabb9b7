"""Outlines of dashboards: where the panels are and which variables users can set, without the data of the panels."""

from typing import Final

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class OutlineOption(ApiModel):
    """An option of a variable, with the text that users see."""

    value: str
    text: str


class OutlineVariable(ApiModel):
    """A variable that users can set."""

    name: str
    label: str
    #: The type in the classic schema, such as ``query``.
    kind: str
    #: True if several options can be selected.
    is_multi: bool = False
    #: Empty for a ``textbox``, whose value may be any text.
    options: list[OutlineOption] = Field(default_factory=list)
    #: The selected values; ``$__all`` is the value for all options.
    values: list[str] = Field(default_factory=list)
    #: The reason why the options are not known, or empty.
    problem: str = ""


class OutlineLink(ApiModel):
    """A link of a dashboard to an address, or to all dashboards with certain tags."""

    title: str
    #: Empty for a link to ``tags``.
    url: str = ""
    tooltip: str = ""
    tags: list[str] = Field(default_factory=list)
    keeps_time: bool = False
    includes_variables: bool = False
    opens_tab: bool = False


class OutlinePanel(ApiModel):
    """A panel with its position in its section, in columns and rows of the grid, which has 24 columns."""

    id: int
    title: str
    #: The title with its references to variables.
    stored_title: str = ""
    type: str
    description: str = ""
    x: int
    y: int
    width: int
    height: int
    #: The values of variables for which a repeated panel or row is drawn, by the name of the variable.
    variables: dict[str, list[str]] = Field(default_factory=dict)


class OutlineSection(ApiModel):
    """Panels below one heading. The panels above the first heading, and those below a collapsed row, are sections without a heading."""

    title: str = ""
    has_heading: bool = False
    is_collapsed: bool = False
    panels: list[OutlinePanel] = Field(default_factory=list)


#: The maximum number of panels on a page. An outline has the panels of one page.
PAGE_SIZE: Final = 500


class DashboardOutline(ApiModel):
    """A dashboard without the data of its panels."""

    title: str
    description: str = ""
    #: The start of the time range as users write it, such as ``now-6h``; ``to`` is its end.
    from_: str = Field(alias="from")
    to: str
    #: The start of the time range in milliseconds since 1970; ``end`` is its end.
    start: int
    end: int
    timezone: str
    #: The interval, such as ``30s``, or empty.
    refresh: str = ""
    variables: list[OutlineVariable] = Field(default_factory=list)
    links: list[OutlineLink] = Field(default_factory=list)
    sections: list[OutlineSection] = Field(default_factory=list)
    #: The number of panels on all pages.
    panel_count: int = 0
    #: The limits that apply, as sentences.
    notices: list[str] = Field(default_factory=list)
