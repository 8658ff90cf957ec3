"""The picture of a sweep."""

from __future__ import annotations

import re

from dbdyno.report.gridpicture import GridCurve, GridPoint, draw


def whiskers(low: float, high: float) -> tuple[float, float]:
    """Upper and lower end of the interval in the wide picture, as it is drawn."""
    points = [GridPoint(at=0, ratio=1.0), GridPoint(at=1, ratio=0.9, low=low, high=high)]
    picture = str(draw([GridCurve(label="a", values=["x", "y"], points=points, color=1, mark="dot")], "knob"))
    line = re.search(r'<line[^>]*class="thin s1"[^>]*>', picture)
    assert line is not None
    y1, y2 = (float(found) for found in re.findall(r' y[12]="([\d.]+)"', line[0]))
    return min(y1, y2), max(y1, y2)


def test_an_interval_is_drawn_whole_and_cut_only_where_it_would_flatten_the_ratios() -> None:
    top, bottom = whiskers(0.75, 1.15)
    assert top > 18 + 1, "ends inside the picture"
    assert bottom < 340 - 52 - 1
    cut_top, cut_bottom = whiskers(0.01, 90.0)
    assert cut_top >= 18
    assert cut_bottom <= 340 - 52
