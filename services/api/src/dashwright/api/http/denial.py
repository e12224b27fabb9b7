"""The refusal of a permission, told in the words clients print."""

from typing import Final

from dashwright.common.errors import Forbidden

ACCESS_DENIED: Final = "access-denied"


def permission_denied(*actions: str) -> Forbidden:
    """The error for a caller who lacks an action, or one of several that are all needed."""
    needed = actions[0] if len(actions) == 1 else f"all of {', '.join(actions)}"
    return Forbidden(f"You'll need additional permissions to perform this action. Permissions needed: {needed}", message_id=ACCESS_DENIED)
