"""When compression wins: the bandwidth at which both ways take as long."""

import pytest

from jupyter_serprof.analysis.sizes.crossovers import with_break_even
from jupyter_serprof.model import Point, Sweep, Variant

MS = 1_000_000
UNSURE = "cannot tell over which link it wins: it took no longer than plain pickle here"


def make_sweep(
    *, moved: int = 4_000_000, wall_ms: int = 30, sizes: tuple[int, ...] = (8,)
) -> Sweep:
    """Return pickle in 10 ms for 10 MB and zstd with other bytes and times, at each size in MB."""
    points = [
        Point(key, size * 10**6, at, at == 0, (wall + 50 * (at == 0)) * MS, written, {})
        for size in sizes
        for key, wall, written in (("pickle", 10, 10_000_000), ("zstd", wall_ms, moved))
        for at in range(2)
    ]
    variants = (Variant("pickle", "pickle"), Variant("zstd", "zstd", notes=("kept",)))
    return Sweep(name="a", started="", variants=variants, points=tuple(points))


@pytest.mark.parametrize(
    ("moved", "wall_ms", "limit", "said"),
    [
        (4_000_000, 30, 300e6, "wins over a link below 300 MB/s: sends 4.00 MB instead of 10.0 MB"),
        (10_000_500, 30, None, "saves no bytes, so it wins over no link"),
        (4_000_000, 9, None, UNSURE),
    ],
)
def test_a_variant_says_when_it_wins(
    moved: int, wall_ms: int, limit: float | None, said: str
) -> None:
    """From the warm medians; the cold runs, 50 ms longer here, do not count."""
    sweep = with_break_even(make_sweep(moved=moved, wall_ms=wall_ms))

    facts = sweep.variants[1].facts
    assert facts["wins_below_bytes_per_s"] == limit
    assert facts["compressed_bytes"] == moved
    assert sweep.variants[1].notes == ("kept", said)
    assert sweep.variants[0].notes == ()


def test_a_document_that_is_finished_twice_says_it_once() -> None:
    once = with_break_even(make_sweep(sizes=(1, 8)))

    assert with_break_even(once) == once
    assert once.variants[1].notes[1].endswith(" (at 8.00 MB)")


def test_without_plain_pickle_nothing_is_said() -> None:
    sweep = make_sweep()
    alone = Sweep(name="a", started="", variants=sweep.variants, points=sweep.points[2:])

    assert with_break_even(alone) is alone
