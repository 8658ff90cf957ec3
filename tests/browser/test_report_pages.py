"""The reports in a real browser: charts drawn, nothing fetched, nothing complained of, no scrolling on a phone."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import make_study
import pytest

from dbdyno.report.runs import write_run_report
from dbdyno.report.study import write_study_report

pytestmark = pytest.mark.browser

# Asks the page about itself once it is drawn. The page's own policy would not run it, so it stands in a copy whose
# policy is taken out; that the policy itself complains of nothing is seen with the page as it is. The copy is shown in
# a frame, since a window cannot be made as narrow as a phone.
PROBE = """<script>
var inked = Array.from(document.querySelectorAll("canvas")).filter(function (one) {
  var all = one.getContext("2d").getImageData(0, 0, one.width, one.height).data;
  for (var i = 3; i < all.length; i += 4) if (all[i]) return true;
  return false;
}).length;
var root = document.documentElement;
parent.postMessage({ width: window.innerWidth, wide: root.scrollWidth - root.clientWidth, inked: inked,
  ready: root.dataset.ready, dark: Number(matchMedia("(prefers-color-scheme: dark)").matches) }, "*");
</script></body>"""
FRAME = """<html><body style="margin:0"><script>
window.addEventListener("message", function (event) {
  Object.keys(event.data).forEach(function (name) { document.documentElement.dataset[name] = event.data[name]; });
});
</script><iframe src="probed.html" style="border:0; width: {width}px; height: 1500px"></iframe></body></html>"""


@dataclass(frozen=True)
class Seen:
    dom: str
    complaints: list[str]
    requests: list[str]

    def data(self, name: str) -> int:
        found = re.search(rf'<html[^>]* data-{name}="(-?\d+)"', self.dom)
        assert found is not None, f"data-{name} is not set: the script did not come to its end"
        return int(found[1])


def look(chromium: str, page: Path, tmp: Path, *, width: int = 1400, dark: bool = False) -> Seen:
    net = tmp / "net.json"
    done = subprocess.run(
        [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
            f"--user-data-dir={tmp / 'profile'}", f"--window-size={width},1600", f"--log-net-log={net}",
            "--enable-logging=stderr", f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--virtual-time-budget=5000", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(dom=done.stdout, complaints=complaints, requests=requests(net))


def requests(net: Path) -> list[str]:
    """Addresses that the page asked for over the network; the browser's own are told by their initiator."""
    text = net.read_text().rstrip()
    try:
        log = json.loads(text)
    except json.JSONDecodeError:
        # A log whose writer was stopped lacks its end.
        log = json.loads(text.rstrip(",") + "]}")
    begin = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    params = [event.get("params", {}) for event in log["events"] if event["type"] == begin]
    return [
        one["url"]
        for one in params
        if one.get("url", "").startswith(("http", "ws")) and one.get("initiator", "not an origin") != "not an origin"
    ]


def framed(page: Path, folder: Path, width: int) -> Path:
    text = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text(), count=1)
    (folder / "probed.html").write_text(text.replace("</body>", PROBE))
    frame = folder / "frame.html"
    frame.write_text(FRAME.replace("{width}", str(width)))
    return frame


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pages")
    bad = "</script><script>alert(1)</script><img src=http://example.invalid/x onerror=console.error(1)>"
    study = make_study.make_study(root / "study", measure_s=30, pairs=3)
    return {
        "run": write_run_report(make_study.make_run(root / "run", measure_s=40)),
        "study": write_study_report(study),
        "interrupted": write_study_report(make_study.make_study(root / "cut", confirmed=False, runs=False)),
        "hostile": write_run_report(make_study.make_run(root / "bad", hostile=bad, measure_s=10)),
    }


@pytest.mark.parametrize("name", ["run", "study", "interrupted", "hostile"])
def test_the_page_draws_fetches_nothing_and_complains_of_nothing(
    chromium: str, pages: dict[str, Path], tmp_path: Path, name: str
) -> None:
    seen = look(chromium, pages[name], tmp_path)
    assert seen.complaints == []
    assert seen.requests == []
    charts = len(re.findall(r'<div class="chart"', pages[name].read_text()))
    assert seen.data("ready") == charts
    assert seen.dom.count("<canvas") == charts
    if name in ("run", "study"):
        assert charts >= 2


@pytest.mark.parametrize(
    ("name", "width", "dark"), [("run", 390, False), ("study", 390, True), ("run", 360, True), ("study", 1600, False)]
)
def test_charts_have_ink_and_the_page_fits_its_width(
    chromium: str, pages: dict[str, Path], tmp_path: Path, *, name: str, width: int, dark: bool
) -> None:
    seen = look(chromium, framed(pages[name], tmp_path, width), tmp_path, width=1700, dark=dark)
    assert (seen.data("width"), seen.data("dark")) == (width, int(dark))
    assert seen.data("wide") <= 0, "the page scrolls sideways"
    assert seen.data("inked") == seen.data("ready") > 0


def test_a_planted_request_is_seen(chromium: str, pages: dict[str, Path], tmp_path: Path) -> None:
    """The test of the test: a page that does fetch is caught."""
    page = tmp_path / "fetching.html"
    page.write_text(
        '<html><body><img src="http://127.0.0.1:9/x.png"><script>console.error("oops")</script></body></html>'
    )
    seen = look(chromium, page, tmp_path)
    assert seen.requests == ["http://127.0.0.1:9/x.png"]
    assert len(seen.complaints) >= 1
