"""Results of the search below ``/apis/dashboard.grafana.app``."""

from typing import Literal

from pydantic import Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.meta import TypeMeta


class ManagedBy(ApiModel):
    """The manager of an object."""

    kind: str = Field(description="The kind of the manager, such as repo")
    id: str = Field(description="The name of the manager")


class SearchHit(ApiModel):
    """A dashboard or folder that was found."""

    resource: Literal["dashboards", "folders"] = Field(description="The plural of the kind")
    name: str = Field(description="The name of the object, its uid in the classic API")
    title: str = Field(description="The title that users see")
    tags: list[str] | None = Field(default=None, description="The tags of a dashboard")
    folder: str | None = Field(default=None, description="The folder that contains the object; missing if the caller may not read it")
    managed_by: ManagedBy | None = Field(default=None, description="The manager; missing for an object without one")
    score: float = Field(default=1.0, description="Always 1: hits are ordered by title, not by relevance")


class SortBy(ApiModel):
    """The order of hits. Folders come before dashboards."""

    field: Literal["title"] = Field(default="title", description="The field")
    desc: bool = Field(description="Whether the order is descending")


class TermFacet(ApiModel):
    """A value and the number of hits that have it."""

    term: str = Field(description="The value")
    count: int = Field(description="The number of hits that have it")


class FacetResult(ApiModel):
    """The most frequent values of a field among all hits."""

    field: str = Field(description="The field")
    total: int = Field(description="The number of values of all hits")
    missing: int = Field(description="The number of hits without a value")
    terms: list[TermFacet] = Field(description="The most frequent values, the most frequent first")


class SearchResults(TypeMeta):
    """A page of hits."""

    offset: int = Field(description="The number of hits before this page")
    total_hits: int = Field(description="The number of hits on all pages")
    hits: list[SearchHit] = Field(description="The hits of this page")
    query_cost: float = Field(default=0.0, description="Always 0: the cost of searches is not measured")
    max_score: float = Field(default=1.0, description="Always 1, as the score of each hit")
    sort_by: SortBy = Field(description="The order of the hits")
    facets: dict[str, FacetResult] | None = Field(default=None, description="The requested facets, by field")


class SortableField(ApiModel):
    """A field by which hits can be sorted."""

    field: str = Field(description="The name of the field")
    string: str = Field(description="The same as field. Grafana 12.4 returns this member instead of field")
    display: str = Field(description="The name that users see")
    type: str = Field(description="The type of the values")


class SortableFields(TypeMeta):
    """The fields by which hits can be sorted."""

    fields: list[SortableField] = Field(description="The fields")
