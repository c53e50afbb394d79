"""When compression wins: the bandwidth below which it pays, from measured warm medians."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jupyter_serprof.model import Sweep, Variant
from jupyter_serprof.model.times import middle_ns
from jupyter_serprof.model.trace import Scalar
from jupyter_serprof.model.units import format_bytes, format_rate

#: What compression is held against: the same pickle, sent as it is.
_BASELINE = "pickle"
#: Keys of transports that compress exactly that pickle.
_COMPRESSED = ("lz4", "zstd")
#: A document that grows is finished more than once; the note of the last time goes.
_BEGINNINGS = ("wins over a link", "saves no bytes", "cannot tell over which link it wins")


def break_even_bytes_per_s(
    raw_bytes: float, raw_ns: float, compressed_bytes: float, compressed_ns: float
) -> float | None:
    """Return the bandwidth below which the compressed way arrives first.

    Parameters
    ----------
    raw_bytes, compressed_bytes
        What goes over the wire, either way.
    raw_ns, compressed_ns
        What the ends cost, either way: pickle, compress, decompress, unpickle.

    Returns
    -------
    float or None
        Bytes per second; None where no bytes are saved, or no time was added that was measured.

    Notes
    -----
    ``t + b / w`` is the time of a way that costs ``t`` at its ends and sends ``b`` bytes at ``w``;
    both are equal where ``w`` is the bytes saved over the time added. Nothing overlaps here; a
    program that sends while it compresses wins up to a larger bandwidth.
    """
    saved, added_ns = raw_bytes - compressed_bytes, compressed_ns - raw_ns
    return saved / (added_ns / 1e9) if saved > 0 and added_ns > 0 else None


def with_break_even(sweep: Sweep) -> Sweep:
    """Return the sweep whose compressed variants say in facts and in words when they win.

    The facts are those of the largest size that was measured warm both ways: ``raw_bytes``,
    ``compressed_bytes``, ``ratio`` and ``wins_below_bytes_per_s``, which is None where it saves no
    bytes and where the runs cannot tell.
    """
    variants = tuple(
        _told(sweep, variant) if variant.key in _COMPRESSED else variant
        for variant in sweep.variants
    )
    return replace(sweep, variants=variants) if variants != sweep.variants else sweep


def _told(sweep: Sweep, variant: Variant) -> Variant:
    plain, compressed = _warm(sweep, _BASELINE), _warm(sweep, variant.key)
    shared = sorted(set(plain) & set(compressed))
    if not shared:
        return variant
    (raw_ns, raw), (own_ns, own) = plain[shared[-1]], compressed[shared[-1]]
    limit = break_even_bytes_per_s(raw, raw_ns, own, own_ns)
    facts: Mapping[str, Scalar] = {
        **variant.facts,
        "raw_bytes": raw,
        "compressed_bytes": own,
        "ratio": raw / own,
        "wins_below_bytes_per_s": limit,
    }
    at = f" (at {format_bytes(shared[-1])})" if len(plain) > 1 and shared[-1] else ""
    note = _sentence(limit, raw, own) + at
    kept = tuple(said for said in variant.notes if not said.startswith(_BEGINNINGS))
    return replace(variant, facts=facts, notes=(*kept, note))


def _sentence(limit: float | None, raw: int, own: int) -> str:
    if limit is not None:
        sizes = f"{format_bytes(own)} instead of {format_bytes(raw)}"
        return f"wins over a link below {format_rate(limit)}: sends {sizes}"
    if raw <= own:
        return "saves no bytes, so it wins over no link"
    # It does all that plain pickle does and more, so what it seems to save is noise.
    return "cannot tell over which link it wins: it took no longer than plain pickle here"


def _warm(sweep: Sweep, key: str) -> dict[int, tuple[float, int]]:
    """Return the median wall time and the bytes written, of each size that was measured warm."""
    groups: dict[int, list[tuple[int, int]]] = {}
    for point in sweep.points:
        if point.variant == key and not point.cold and point.moved_bytes:
            pair = point.wall_ns, point.moved_bytes
            groups.setdefault(point.size_bytes or 0, []).append(pair)
    return {
        size: (middle_ns(ns for ns, _ in pairs), pairs[-1][1]) for size, pairs in groups.items()
    }
