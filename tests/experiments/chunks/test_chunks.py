"""The best chunk size: the true one lies in the interval, and flat curves have none."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from jupyter_serprof.experiments.chunks.best import ChunkFacts, Recommendation, in_order, recommend
from jupyter_serprof.experiments.chunks.words import chunk_finding, summarize_chunks
from jupyter_serprof.model import Finding, Point
from jupyter_serprof.model.units import plain

SEEDS, NOISE_SHARE = 200, 0.05
EDGE = 8000
CHUNKS = tuple(round(100 * 40 ** (step / 7)) for step in range(8))


def tasks(chunk: float) -> int:
    return math.ceil(EDGE / chunk) ** 2


def u_curve(task_s: float, work_s: float, workers: int) -> Callable[[float], float]:
    """Return the law: an overhead for each task, and rounds of work on so many workers."""

    def wall_s(chunk: float) -> float:
        count = tasks(chunk)
        return 0.05 + task_s * count + work_s * math.ceil(count / workers) / count

    return wall_s


def runs(  # noqa: PLR0913  (what a simulation may vary)
    wall_s: Callable[[float], float],
    *,
    seed: int = 0,
    repeats: int = 3,
    noise_share: float = NOISE_SHARE,
    chunks: Sequence[float] = CHUNKS,
    stages: Callable[[float], Mapping[str, float]] = lambda _: {},
) -> tuple[list[Point], list[ChunkFacts]]:
    """Return warm points with relative noise, and the facts of the sizes."""
    draw = random.Random(seed)  # noqa: S311  (simulation)
    points = [
        Point(
            variant="dask",
            size_bytes=round(chunk * chunk * 8),
            repeat=repeat,
            cold=False,
            wall_ns=round(1e9 * wall_s(chunk) * math.exp(draw.gauss(0, noise_share))),
            moved_bytes=None,
            stages={key: round(1e9 * own_s) for key, own_s in stages(chunk).items()},
            parameter=chunk,
        )
        for chunk in chunks
        for repeat in range(1, repeats + 1)
    ]
    return points, [ChunkFacts(c, round(c * c * 8), tasks(c), tasks(c)) for c in chunks]


def found(*args: object, **options: object) -> Recommendation:
    result = recommend(*runs(*args, **options))  # type: ignore[arg-type]  # passed on
    assert result is not None
    return result


def values(result: Recommendation) -> tuple[float, float, float]:
    low, best, high = (result.sizes[at] for at in (result.low, result.best, result.high))
    return low.parameter, best.parameter, high.parameter


def said(result: Recommendation) -> Finding:
    return chunk_finding(result, "chunk", "make(chunk)", "x = x.rechunk(<best>)")


def test_the_true_best_lies_in_the_interval() -> None:
    """In at least 93 % of runs with 5 % noise; overheads, work and workers of all kinds."""
    draw = random.Random(0)  # noqa: S311  (simulation)
    laws = [
        u_curve(
            10 ** draw.uniform(-3.5, -2.5), 10 ** draw.uniform(-0.5, 1), draw.choice([2, 4, 8, 16])
        )
        for _ in range(SEEDS)
    ]

    results = [found(law, seed=seed) for seed, law in enumerate(laws)]

    best = [min(CHUNKS, key=law) for law in laws]
    covered = [
        values(result)[0] <= true <= values(result)[2]
        for result, true in zip(results, best, strict=True)
    ]
    assert sum(covered) >= 0.93 * SEEDS
    assert sum(result.is_told for result in results) >= 0.95 * SEEDS
    widths = [result.high - result.low + 1 for result in results]
    assert sum(widths) <= 4 * SEEDS


def test_of_a_flat_curve_none_is_recommended() -> None:
    """Whatever is lowest by chance: the runs cannot tell, and this is said."""
    results = [found(lambda _: 1.0, seed=seed) for seed in range(SEEDS)]

    assert sum(not result.is_told for result in results) >= 0.95 * SEEDS
    flat = next(result for result in results if not result.is_told)
    assert said(flat).because.startswith("all 8 sizes, ")
    assert said(flat).evidence["best"] is None
    again = "%graphstages --sweep chunk=100:4000:8 --repeat 10 make(chunk)   # takes about "
    assert said(flat).remedy.startswith(again)
    assert (flat.below, flat.above, flat.edge) == (None, None, "")


def test_one_run_of_each_size_tells_nothing() -> None:
    result = found(u_curve(1e-3, 5, 8), repeats=1)

    assert not result.is_told
    assert said(result).because.endswith("with one warm run of each")


def test_one_run_apart_by_three_tells_when_the_cold_one_does_so_too() -> None:
    """Times that fall in both passes are no noise; within three of the best none is told."""
    points, facts = runs(lambda chunk: 100 / chunk, repeats=1)

    result = recommend([*points, *(replace(point, cold=True) for point in points)], facts)

    assert result is not None
    assert (*values(result)[:2], result.is_told) == (*CHUNKS[-3::2], True)


def test_of_two_runs_the_quick_one_makes_no_best() -> None:
    """What cannot be told from it stands beside it, and no ratio is told of that."""
    times = {200: [10_769, 9_868, 5_578, 4_010], 500: [1_373, 4_239, 2_367, 437]}
    times |= {1_000: [1_012, 1_737, 868, 689], 3_000: [1_458, 1_137, 209]}
    points = [
        Point("dask", round(chunk), at, at == 0, ms * 10**6, None, {}, parameter=chunk)
        for chunk, each in times.items()
        for at, ms in enumerate(each)
    ]

    result = recommend(points, [ChunkFacts(chunk, round(chunk)) for chunk in times])

    assert result
    assert values(result) == (500, 1_000, 3_000)
    told = summarize_chunks("x", "chunk", result, [], 4).headline
    assert told == "`chunk = 1_000`, like 500 to 3_000, is best: 868 ms, 6.4× as long at 200"  # noqa: RUF001


def test_without_noise_it_is_the_lowest_alone() -> None:
    """The interval is one size, and both sides are surely slower."""
    law = u_curve(1e-3, 5, 8)

    result = found(law, noise_share=0.0)

    true = min(CHUNKS, key=law)
    assert values(result) == (true, true, true)
    assert result.below is not None
    assert result.above is not None


@pytest.mark.parametrize(
    ("law", "edge", "again"),
    [
        (lambda chunk: 1e-3 * tasks(chunk), "largest", "chunk=4000:16000:8"),
        (lambda chunk: chunk / 1000, "smallest", "chunk=25:100:8"),
    ],
)
def test_a_best_at_the_edge_asks_for_more_sizes(
    law: Callable[[float], float], edge: str, again: str
) -> None:
    """The lowest is the last one measured: what lies beyond may be better."""
    result = found(law)

    assert result.edge == edge
    headline = summarize_chunks("x", "chunk", result, (), 8).headline
    assert f" is best, the {edge} measured: " in said(result).title in headline
    assert said(result).remedy == f"%graphstages --sweep {again} make(chunk)"


def test_the_stages_that_grow_are_named_on_either_side() -> None:
    """Scheduling and serialization below the best, idle workers above it."""

    def stages(chunk: float) -> dict[str, float]:
        count = tasks(chunk)
        return {
            "dask.schedule.transitions": 4e-4 * count,
            "dask.schedule.order": 3e-4 * count,
            "dask.serialize": 2e-4 * count,
            "dask.execute": max(0.5, 4 / count),
        }

    def law(chunk: float) -> float:
        return sum(stages(chunk).values()) + 1e-4 * tasks(chunk)

    points, facts = runs(law, stages=stages, noise_share=0.0)
    busy = [
        ChunkFacts(f.parameter, f.chunk_bytes, f.chunks, f.tasks, 0.9 if i < 7 else 0.4)
        for i, f in enumerate(facts)
    ]

    result = recommend(points, busy)

    assert result is not None
    assert result.below is not None
    assert list(result.below.stages_ns) == ["dask.schedule"]
    finding = said(result)
    assert finding.evidence["limits_below"] == "Scheduling"
    assert finding.evidence["limits_above"] == "Execution"
    assert "workers were busy 40 % of the time instead of 90 %" in finding.because


def test_the_finding_has_the_numbers_and_a_line_to_paste() -> None:
    """What the views draw: best, low and high as they were asked for and in bytes."""
    result = found(u_curve(1e-3, 5, 8))
    finding = said(result)

    low, best, high = values(result)
    evidence = finding.evidence
    assert (finding.rule, finding.severity) == ("dask.chunk-sweep", "info")
    assert [evidence[key] for key in ("low", "best", "high")] == [low, best, high]
    assert evidence["best_bytes"] == round(best * best * 8)
    assert evidence["parameter"] == "chunk"
    assert finding.remedy == f"x = x.rechunk({plain(best)})"


def test_fewer_than_three_sizes_are_no_curve() -> None:
    points, facts = runs(u_curve(1e-3, 5, 8), chunks=CHUNKS[:2])

    result = recommend(points, facts)

    assert result is None
    summary = summarize_chunks("make(chunk)", "chunk", result, (), 2)
    assert (
        summary.headline == "`make(chunk)`: 2 sizes with warm runs, 3 are needed to recommend one"
    )
    assert summarize_chunks("x", "chunk", None, (), None).headline == "`x`: no run ended"


def test_cold_runs_do_not_count() -> None:
    points, facts = runs(u_curve(1e-3, 5, 8))
    cold = replace(points[0], cold=True, wall_ns=1, parameter=1.0)

    result = recommend([*points, cold], [*facts, ChunkFacts(1.0, 8, 64_000_000)])

    assert result is not None
    assert [entry.parameter for entry in result.sizes] == list(CHUNKS)


def test_the_order_is_from_many_chunks_to_few() -> None:
    """Numbers of partitions go the other way round than lengths of chunks."""
    by_count = [ChunkFacts(2, 15_000, 2), ChunkFacts(16, 15_100, 16), ChunkFacts(4, 15_200, 4)]
    by_bytes = [ChunkFacts(1, 900), ChunkFacts(2, 100)]
    unknown = [ChunkFacts(3), ChunkFacts(1)]

    orders = [
        [entry.parameter for entry in in_order(facts)] for facts in (by_count, by_bytes, unknown)
    ]

    assert orders == [[16, 4, 2], [2, 1], [1, 3]]
