"""The supported SQL functions. Each entry is an item of the allow list, an implementation and a line of the reference page."""

from collections.abc import Mapping

from dashwright.expressions.sql.functions.aggregates import AGGREGATES, WINDOWS
from dashwright.expressions.sql.functions.choices import CHOICES
from dashwright.expressions.sql.functions.documents import DOCUMENTS
from dashwright.expressions.sql.functions.function import SqlFunction
from dashwright.expressions.sql.functions.mathematics import MATHEMATICS
from dashwright.expressions.sql.functions.strings import STRINGS
from dashwright.expressions.sql.functions.times import TIMES

#: The functions by the headings of the reference page.
GROUPS: Mapping[str, list[SqlFunction]] = {
    "conditionals": CHOICES,
    "aggregates": AGGREGATES,
    "windows": WINDOWS,
    "numbers": MATHEMATICS,
    "strings": STRINGS,
    "times": TIMES,
    "JSON": DOCUMENTS,
}
FUNCTIONS: Mapping[str, SqlFunction] = {function.name: function for group in GROUPS.values() for function in group}
