"""The screen that stays open beside a server: keys, timer, size; what it shows is made in `frame`."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import Static

from dbdyno.view.frame import Look, Scene, frame
from dbdyno.view.source import Source

SPANS_S = (30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14_400.0, 36_000.0)
REFRESH_S = 0.5


class WatchApp(App[None]):
    """Shows a source until `q`. A finished record begins at its end, with all of it on the screen."""

    CSS = "Screen { layout: vertical; } Static { width: 100%; height: 100%; }"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        Binding("space", "pause", "pause"),
        Binding("left", "scroll(-1)", "back"),
        Binding("right", "scroll(1)", "forward"),
        Binding("plus,equals_sign", "zoom(-1)", "closer"),
        Binding("minus", "zoom(1)", "wider"),
        Binding("home", "begin", "begin"),
        Binding("end", "live", "live"),
        Binding("q,escape", "quit", "quit"),
    ]

    def __init__(self, source: Source, *, live: bool, span_s: float = 60.0) -> None:
        super().__init__()
        self._source = source
        self._live = live
        self._span = min(range(len(SPANS_S)), key=lambda at: abs(SPANS_S[at] - span_s))
        self._paused_s: float | None = None
        """Right edge when it does not follow the present."""

    def compose(self) -> ComposeResult:
        yield Static(id="screen")

    def on_mount(self) -> None:
        if not self._live:
            fitting = [at for at, span_s in enumerate(SPANS_S) if span_s >= self._source.now_s()]
            self._span = fitting[0] if fitting else len(SPANS_S) - 1
        self.set_interval(REFRESH_S, self._show)
        self._show()

    def on_resize(self) -> None:
        self._show()

    @property
    def look(self) -> Look:
        paused = self._paused_s is not None
        end_s = self._paused_s if self._paused_s is not None else self._source.now_s()
        return Look(end_s=end_s, span_s=SPANS_S[self._span], paused=paused and self._live, live=self._live)

    def _show(self) -> None:
        self._source.refresh()
        source = self._source
        scene = Scene(source.title, source.store(), source.intervals(), source.doubts())
        self.query_one("#screen", Static).update(frame(scene, self.look, self.size.width, self.size.height))

    def action_pause(self) -> None:
        self._paused_s = self._source.now_s() if self._paused_s is None else None
        self._show()

    def action_scroll(self, direction: int) -> None:
        """A quarter of the screen back or forward in time; forward beyond the present follows it again."""
        now = self._source.now_s()
        end_s = (self._paused_s if self._paused_s is not None else now) + direction * SPANS_S[self._span] / 4
        self._paused_s = None if end_s >= now else max(end_s, 1.0)
        self._show()

    def action_zoom(self, direction: int) -> None:
        self._span = min(max(self._span + direction, 0), len(SPANS_S) - 1)
        self._show()

    def action_begin(self) -> None:
        self._paused_s = min(SPANS_S[self._span], self._source.now_s())
        self._show()

    def action_live(self) -> None:
        self._paused_s = None
        self._show()
