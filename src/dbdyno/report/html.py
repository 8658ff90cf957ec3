"""One self-contained page from a view: templates with escaping, everything inline, nothing fetched.

What a server said may be hostile: every value passes Jinja's autoescape, data for the script is JSON that cannot close
its element, and a content policy lets only our own scripts run (by hash) and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from dbdyno.model.record import to_json
from dbdyno.report import figures


def asset(name: str) -> str:
    return resources.files("dbdyno.report").joinpath("assets", name).read_text("utf-8")


def embedded(value: Any) -> Markup:
    """JSON for the inside of a script element: `<`, `>`, `&` and the line separators of JavaScript are written as
    escapes, so no string in it can end the element or begin a comment."""
    text = to_json(value).decode()
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


@cache
def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("dbdyno.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=figures.number,
        size=figures.size,
        seconds=figures.seconds,
        milliseconds=figures.milliseconds,
        percent=figures.percent,
        ratio=figures.ratio,
        grouped=figures.grouped,
    )
    made.globals["asset"] = lambda name: Markup(asset(name))
    made.globals["embedded"] = embedded
    made.globals["policy"] = _policy()
    return made


def _policy() -> str:
    """Content-Security-Policy: only the two scripts that we ship run; styles inline; nothing is loaded."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(asset(name).encode()).digest()).decode()}'"
        for name in ("uplot.min.js", "report.js")
    )
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {hashes}"


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)
