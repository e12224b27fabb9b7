"""Outlines of dashboards: where the panels are and which variables users can set, without the data of the panels."""

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class OutlineOption(ApiModel):
    """An option of a variable, with the text that users see."""

    value: str
    text: str


class OutlineVariable(ApiModel):
    """A variable that users can set. One without ``options`` has any text as its value, if ``kind`` is ``textbox``.

    ``kind`` is that of the classic schema, such as ``query``. ``values`` are the selected ones; ``$__all`` means all options.
    ``problem`` is the reason why the options are not known.
    """

    name: str
    label: str
    kind: str
    is_multi: bool = False
    options: list[OutlineOption] = Field(default_factory=list)
    values: list[str] = Field(default_factory=list)
    problem: str = ""


class OutlineLink(ApiModel):
    """A link of a dashboard: to ``url``, or to all dashboards with the ``tags`` if the url is empty."""

    title: str
    url: str = ""
    tooltip: str = ""
    tags: list[str] = Field(default_factory=list)
    keeps_time: bool = False
    includes_variables: bool = False
    opens_tab: bool = False


class OutlinePanel(ApiModel):
    """A panel with its position in its section, in columns and rows of the grid, which has 24 columns.

    ``stored_title`` is the title with its references to variables. ``variables`` are the values for which a repeated panel or row is
    drawn.
    """

    id: int
    title: str
    stored_title: str = ""
    type: str
    description: str = ""
    x: int
    y: int
    width: int
    height: int
    variables: dict[str, list[str]] = Field(default_factory=dict)


class OutlineSection(ApiModel):
    """Panels below a heading, or the panels above the first heading or below a collapsed row, which have none."""

    title: str = ""
    has_heading: bool = False
    is_collapsed: bool = False
    panels: list[OutlinePanel] = Field(default_factory=list)


class DashboardOutline(ApiModel):
    """A dashboard without the data of its panels.

    ``from`` and ``to`` are the times as users write them, and ``start`` and ``end`` in milliseconds since 1970. ``notices`` are the
    limits that apply.
    """

    title: str
    description: str = ""
    from_: str = Field(alias="from")
    to: str
    start: int
    end: int
    timezone: str
    refresh: str = ""
    variables: list[OutlineVariable] = Field(default_factory=list)
    links: list[OutlineLink] = Field(default_factory=list)
    sections: list[OutlineSection] = Field(default_factory=list)
    notices: list[str] = Field(default_factory=list)
