"""The controls of a panel: source, transports, sizes, and when it ends."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from jupyter_serprof.experiments.engine.order import SIZES
from jupyter_serprof.panel.runner import Offer, Plan, Scale, Way, Words

_MOST_SIZES = 40
_SIZES = 8
_LABEL_WIDTH = "7.5rem"
LABEL = {"description_width": _LABEL_WIDTH}
_INDENTED = {"margin": f"0 0 4px calc({_LABEL_WIDTH} + 8px)"}
_WIDE = {"width": "98%", "max_width": "44rem"}
_SOURCE, _NARROW = {"width": "min(98%, 36rem)"}, {"width": "7rem"}
_FLOWS = {"flex_flow": "row wrap", "flex": "1 1 20rem"}
WRAPS = {"flex_flow": "row wrap", "align_items": "center"}
_ON_ONE_LINE = {"flex_flow": "row wrap", "align_items": "baseline"}
_BUDGET, _REPEAT = f"{SIZES.most} warm runs, or after", "a number of warm runs"
_ENDS = {_BUDGET: ("Seconds", 60, 3600), _REPEAT: ("Warm runs", 3, 1000)}


class Widgets:
    """The widgets of one panel, closed together; layouts that are alike are one: 1 kB each."""

    def __init__(self) -> None:
        self._made: dict[object, Any] = {}

    def __call__(self, kind: str, *children: object, **traits: object) -> Any:  # noqa: ANN401  (one)
        """Return a new widget; its layout and style are new where no other has such ones."""
        import ipywidgets

        made = getattr(ipywidgets, kind)
        for name in {"layout", "style"} & made.class_traits().keys():
            if isinstance(given := traits.get(name, {}), dict):
                klass = made.class_traits()[name].klass
                key = klass, tuple(given.items())
                traits[name] = self._made[key] = self._made.get(key) or klass(**given)
        return self._made.setdefault(len(self._made), made(*children, **traits))

    def labelled(self, kind: str, label: str, **traits: object) -> Any:  # noqa: ANN401  (a widget)
        """Return a new widget with a label as wide as the others."""
        return self(kind, description=label, style=LABEL, **traits)

    def close(self) -> None:
        """Close all: a notebook that keeps the state of widgets keeps none of these."""
        for each in self._made.values():
            each.close()


class Choice:
    """Everything that can be chosen; ``plan`` is what is chosen now.

    ``changed``: Called when something else is chosen.
    """

    def __init__(self, offer: Offer, words: Words) -> None:
        self._offer, self._words, self.widget = offer, words, Widgets()
        widget = self.widget
        self.changed: Callable[[], None] = lambda: None
        self._is_busy = False
        self._scale: Scale | None = None
        self.source = widget.labelled("Dropdown", words.source, layout=_SOURCE, options=[])
        self.refresh = widget(
            "Button", description="Refresh", tooltip="Look again what there is", layout=_NARROW
        )
        self.ways: dict[str, Any] = {}
        self._unusable: set[str] = set()
        self.ways_box, self.reasons = widget("Box", layout=_FLOWS), widget("HTML", layout=_INDENTED)
        self.sizes, self.count = _sizes(widget, words)
        self.words = widget("HTML", layout=_INDENTED)
        self.ends, self.limit = _ends(widget)
        self.code = widget.labelled("Text", "The same in code", layout=_WIDE)
        self.box = self._boxed()
        self.look_again()
        self._listen()

    @property
    def plan(self) -> Plan | None:
        """What is chosen; None where nothing can be measured."""
        if self.source.value is None or self._scale is None or (self.ways and not self._chosen):
            return None
        low, high = self.sizes.value if self._scale.steps else (None, None)
        is_budget = self.ends.value == _BUDGET
        return Plan(
            self.source.value,
            self._chosen,
            low,
            high,
            self.count.value,
            repeat=None if is_budget else self.limit.value,
            budget_s=float(self.limit.value) if is_budget else None,
        )

    @property
    def _chosen(self) -> tuple[str, ...]:
        return tuple(
            key for key, box in self.ways.items() if box.value and key not in self._unusable
        )

    def look_again(self) -> None:
        """Ask anew what there is; what was chosen stays chosen if it is still there."""
        self._show(self._show_sources, self._show_ways, is_new=True)

    def lock(self, *, is_locked: bool) -> None:
        """Let nothing be chosen while something runs."""
        for key, box in self.ways.items():
            box.disabled = is_locked or key in self._unusable
        for control in (self.source, self.refresh, self.sizes, self.count, self.ends, self.limit):
            control.disabled = is_locked

    def _listen(self) -> None:
        self.refresh.on_click(lambda _: self.look_again())
        self.source.observe(lambda _: self._show(is_new=True), "value")
        self.ends.observe(lambda _: self._show_limit(), "value")
        for control in (self.sizes, self.count, self.ends, self.limit):
            control.observe(lambda _: self._show(), "value")

    def _show(self, *shows: Callable[[], None], is_new: bool = False) -> None:
        """Show what follows from a choice, once: what is set here is no choice."""
        if self._is_busy:
            return
        self._is_busy = True
        try:
            for show in shows:
                show()
            self._show_scale(is_new=is_new)
            plan = self.plan
            self.code.value = self._offer.code(plan) if plan else ""
        finally:
            self._is_busy = False
        self.changed()

    def _show_sources(self) -> None:
        found = list(self._offer.sources())
        before = self.source.value
        usable = [(one.title, one.key) for one in found if not one.reason]
        self.source.options = usable
        keys = [key for _, key in usable]
        self.source.value = before if before in keys else (keys[0] if keys else None)
        refused = [f"{one.title}: {one.reason}" for one in found if one.reason]
        nothing = [] if usable else [self._words.nothing]
        self._refused = [*nothing, *refused]

    def _show_ways(self) -> None:
        before = {key: box.value for key, box in self.ways.items()}
        self.ways = {}
        offered = list(self._offer.ways())
        self._unusable = {way.key for way in offered if way.reason}
        for way in offered:
            self.ways[way.key] = self.widget(
                "Checkbox",
                value=not way.reason and before.get(way.key, way.is_chosen),
                description=way.title,
                disabled=bool(way.reason),
                tooltip=way.reason or way.title,
                indent=False,
                layout={"width": "13rem", "margin": "0"},
            )
            self.ways[way.key].observe(lambda _: self._show(), "value")
        self.ways_box.children = tuple(self.ways.values())
        self.reasons.value = _lines([*self._refused, *_grouped(offered)])

    def _show_scale(self, *, is_new: bool) -> None:
        """Offer the sizes of the source; the range stays where it was if it still can."""
        key = self.source.value
        self._scale = None if key is None else self._offer.scale(key, self._chosen)
        scale = self._scale
        self.words.value = _lines([scale.words]) if scale else ""
        has_sizes = bool(scale and scale.steps)
        for control in (self.sizes, self.count):
            control.layout.display = None if has_sizes else "none"
        if not scale or not has_sizes:
            return
        if self.sizes.options != scale.steps:
            before = self.sizes.value
            self.sizes.options = scale.steps
            numbers = [number for _, number in scale.steps]
            fits = not is_new and all(number in numbers for number in before)
            ends = before if fits else (numbers[scale.low], numbers[scale.high])
            self.sizes.value = tuple(ends)

    def _show_limit(self) -> None:
        label, value, most = _ENDS[self.ends.value]
        with self.limit.hold_sync():  # at once: what is typed between two would be overwritten
            self.limit.description, self.limit.max = label, most
            self.limit.value = value

    def _boxed(self) -> Any:  # noqa: ANN401  (a Box)
        widget = self.widget
        # In line with the labels of single controls.
        shown = {"width": _LABEL_WIDTH, "justify_content": "flex-end", "margin": "2px 8px 2px 2px"}
        layout = shown if self._words.ways else {"display": "none"}
        heading = widget("Label", self._words.ways, layout=layout)
        rows = (
            widget("HBox", [self.source, self.refresh], layout=WRAPS),
            widget("HBox", [heading, self.ways_box], layout=_ON_ONE_LINE),
            *(self.reasons, self.sizes, self.words),
            widget("HBox", [self.count, self.ends, self.limit], layout=WRAPS),
            self.code,
        )
        return widget("VBox", rows)


def _grouped(ways: Sequence[Way]) -> list[str]:
    titles: dict[str, list[str]] = {}
    for way in ways:
        if way.reason:
            titles.setdefault(way.reason, []).append(way.title)
    return [f"{'; '.join(names)}: {reason}" for reason, names in titles.items()]


def _lines(texts: Sequence[str]) -> str:
    """Return texts as small print, one below the other; a Label would cut them off."""
    said = "".join(f"<div>{escape(text)}</div>" for text in texts if text)
    return f'<div style="line-height:1.4">{said}</div>' if said else ""


def _sizes(widget: Widgets, words: Words) -> tuple[Any, Any]:
    own, short = widget("Layout", **_WIDE), widget("Layout", width="13rem")  # they come and go
    steps = {"options": [("1 kB", 1e3), ("10 kB", 1e4)], "index": (0, 1), "layout": own}
    sizes = widget.labelled("SelectionRangeSlider", words.sizes, continuous_update=False, **steps)
    number = {"value": _SIZES, "min": 2, "max": _MOST_SIZES, "layout": short}
    return sizes, widget.labelled("BoundedIntText", "Number of sizes", **number)


def _ends(widget: Widgets) -> tuple[Any, Any]:
    label, value, most = _ENDS[_BUDGET]
    chosen = {"options": list(_ENDS), "value": _BUDGET, "layout": {"width": "16rem"}}
    number = {"value": value, "min": 1, "max": most, "layout": {"width": "12rem"}}
    limit = widget("BoundedIntText", description=label, **number)
    return widget.labelled("Dropdown", "Ends by", **chosen), limit
