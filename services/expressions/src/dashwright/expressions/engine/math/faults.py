"""The error of an expression that cannot be read: what, where, and a picture of where."""

from dashwright.common.errors import BadRequest

_CONTEXT = 40


def fault(message: str, text: str, position: int) -> BadRequest:
    """``details`` holds ``position`` (from 1) and ``caret``: the surrounding text above a line with a caret under the place."""
    start = max(0, position - _CONTEXT)
    line = "".join(" " if char.isspace() else char for char in text[start : position + _CONTEXT])
    caret = f"{line}\n{' ' * (position - start)}^"
    return BadRequest(
        f"expr: {message} (at character {position + 1})",
        message_id="sse.parseError",
        details={"position": str(position + 1), "caret": caret},
    )
