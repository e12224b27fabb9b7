"""How one expression names another query: ``A``, ``$A`` or ``${my query}``."""

from dashwright.common.errors import BadRequest


def ref_id_of(reference: str, missing: str = "no variable specified to reference") -> str:
    """The refId that ``reference`` names. Raises BadRequest, which begins with ``missing``, where it names none."""
    ref_id = reference.removeprefix("$")
    if ref_id != reference and ref_id.startswith("{") and ref_id.endswith("}"):
        ref_id = ref_id[1:-1]
    if not ref_id.strip():
        raise BadRequest(f"{missing}; name a query or expression, such as $A or ${{my query}}")
    return ref_id
