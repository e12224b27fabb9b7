"""Bounds of the size of pictures."""

import pytest
from pydantic import ValidationError

from dashwright.common.models.pictures import MIN_PANEL_WIDTH, MIN_WIDTH, PictureOptions


@pytest.mark.parametrize(("panel", "width"), [(None, MIN_WIDTH), (7, MIN_PANEL_WIDTH), (0, MIN_PANEL_WIDTH)])
def test_only_a_picture_of_one_panel_may_be_narrow(panel: int | None, width: int) -> None:
    """A picture of one panel has a lower minimum width than one of a dashboard. A narrower picture is an error of ``width``."""
    assert PictureOptions.model_validate({"width": width, "panel": panel}).width == width
    with pytest.raises(ValidationError) as raised:
        PictureOptions.model_validate({"width": width - 1, "panel": panel})
    (fault,) = raised.value.errors()
    assert fault["loc"] == ("width",)
    assert fault["msg"] == f"Input should be greater than or equal to {width}"
