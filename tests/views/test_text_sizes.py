"""Sweeps over sizes in characters: the chart, the medians, growth, crossovers, what is missing."""

from dataclasses import replace

from goldens import check
from hypothesis import given, settings
from hypothesis import strategies as st
from size_samples import make_sizes
from strategies import crossings, fits

from jupyter_serprof.model import Point, Sweep, Variant
from jupyter_serprof.views.kit.lines import width as columns_of
from jupyter_serprof.views.text import text


@st.composite
def size_sweeps(draw: st.DrawFn) -> Sweep:
    """Draw sweeps over sizes whose lines and crossovers may be anything."""
    runs = st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 2**62),
        st.booleans(),
        st.integers(1, 2**62),
    )
    drawn = draw(st.lists(runs, min_size=2, max_size=12))
    return Sweep(
        name="x",
        started="",
        kind=draw(st.sampled_from(["sweep", "chunks"])),
        parameter=draw(st.text(max_size=30)),
        variants=tuple(Variant(key, draw(st.text(max_size=60))) for key in "abc"),
        points=tuple(
            Point(key, size, at, cold, wall, None, {}, parameter=float(size))
            for at, (key, size, cold, wall) in enumerate(drawn)
        ),
        fits=tuple(draw(st.lists(fits, max_size=4))),
        crossovers=tuple(draw(st.lists(crossings, max_size=4))),
    )


@settings(max_examples=80, deadline=None)
@given(size_sweeps(), st.integers(40, 120))
def test_any_sweep_over_sizes_fits_its_lines(sweep: Sweep, width: int) -> None:
    """Damaged lines and crossovers are left out; nothing raises, nothing is wider than asked."""
    assert max(columns_of(line) for line in text(sweep, width=width).split("\n")) <= width


SIZES = make_sizes()
DOUBT = replace(SIZES.fits[0], growth="cannot tell", fixed_ns=None, ns_per_byte=None)


def only(size_bytes: int, kind: str = "sweep") -> Sweep:
    """Return the sweep as it is when it was stopped after one size."""
    points = tuple(point for point in SIZES.points if point.size_bytes == size_bytes)
    return replace(SIZES, kind=kind, points=points)


def six_ways() -> Sweep:
    """Return a sweep with four more ways, which are as fast as the first."""
    more = [replace(v, key=f"{v.key}{i}") for v in SIZES.variants[:1] for i in range(4)]
    points = (
        replace(p, variant=v.key) for v in more for p in SIZES.points if p.variant == "pickle"
    )
    return replace(SIZES, variants=(*SIZES.variants, *more), points=(*SIZES.points, *points))


def grouped() -> Sweep:
    """Return the sweep with five more runs at one size, three of them as slow as none before."""
    runs = [p for p in only(1_000).points if p.variant == "ray" and not p.cold]
    more = [replace(runs[0], repeat=at, wall_ns=5_000_000) for at in (7, 8, 9)]
    return replace(SIZES, points=(*SIZES.points, *more))


def test_the_name_of_what_was_asked_for_is_text() -> None:
    said = text(replace(SIZES, parameter="a\x1fb"))

    assert all(line.isprintable() for line in said.split("\n"))


def test_sizes_are_told_in_characters() -> None:
    samples = {
        "a doubt has its reason": (replace(SIZES, fits=(replace(DOUBT, cause="it jumps"),)), 140),
        "narrow lines: several tables": (six_ways(), 50),
        "runs in two groups": (grouped(), 100),
        "a single size": (only(1_000), 100),
        "a single size of chunks": (only(1_000, "chunks"), 100),
        "copies are counted where a rate says something": (only(100_000), 140),
    }

    check("sizes", {name: text(sweep, width=width) for name, (sweep, width) in samples.items()})
