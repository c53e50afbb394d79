"""Remedies in the user's own names: each runs, and gives what the typed code gives."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import dask
import pytest
from dask.delayed import delayed

from jupyter_serprof.analysis.findings import dask as of_graphs
from jupyter_serprof.analysis.findings import dask_runs, ray
from jupyter_serprof.analysis.typed import is_chain, named, roles_of
from jupyter_serprof.model import Finding


def get(refs: Any) -> Any:
    """Return what Ray does for references that are lists of one value."""
    is_one = len(refs) == 1 and not isinstance(refs[0], list)
    return refs[0] if is_one else [ref[0] for ref in refs]


def run(code: str) -> dict[str, Any]:
    """Run code where `f` squares what it gets, `xs` are three numbers and `x` is a graph."""
    names: dict[str, Any] = {"ray": SimpleNamespace(get=get), "xs": [1, 2, 3], "out": []}
    names |= {"f": SimpleNamespace(remote=lambda x: [x * x]), "refs": [[1], [4], [9]]}
    names |= {"dask": dask, "double": delayed(lambda x: 2 * x)}
    exec(code, names)  # noqa: S102  (what a user would paste)
    return names


LOOPS = {
    "a call in a list": ("out = [ray.get(f.remote(x)) for x in xs]", ray._SUBMIT_FIRST, "values"),
    "by a name": (
        "for x in xs:\n    ref = f.remote(x)\n    got = ray.get(ref)\n    out.append(got)",
        ray._SUBMIT_FIRST,
        "values",
    ),
    "of references": ("for r in refs: out.append(ray.get(r))", ray._ALL_AT_ONCE, "values"),
    "of graphs": ("for x in xs: out.append(double(x).compute())", dask_runs.COMPUTE, "results"),
    "two graphs": (
        "out = [double(xs[0]).compute(), double(xs[1]).compute()]",
        of_graphs._TOGETHER,
        "results",
    ),
}


@pytest.mark.parametrize(("code", "remedy", "result"), LOOPS.values(), ids=LOOPS)
def test_a_remedy_in_the_names_of_the_code_gives_the_same(
    code: str, remedy: str, result: str
) -> None:
    said = named(Finding("rule", "warn", "title", {}, remedy), roles_of(code)).remedy

    assert "<" not in said
    assert list(run(said)[result]) == run(code)["out"]


@pytest.mark.parametrize(
    "code",
    [
        "a label of a recording",
        f"x{'.a(1)' * 900}.compute()",  # deeper than Python writes
        "analyze(frame)",
        "acc = 0\nfor x in xs: acc = ray.get(add.remote(acc, x))",
        "for path in ['...', '...']: ray.get(read.remote(path))",
        "[ray.get(f.remote(x)) for x in xs]; [ray.get(g.remote(y)) for y in ys]",
        "for x in xs:\n    y = x + 1\n    ray.get(f.remote(y))",
        "for x in xs:\n    for y in ys: ray.get(f.remote(x, y))",
    ],
)
def test_words_are_said_where_the_code_does_not_tell_one_loop(code: str) -> None:
    """Called elsewhere, a turn after the other, literals, two loops, a step, one in another."""
    finding = Finding("rule", "warn", "title", {}, ray._SUBMIT_FIRST, because="each waits")

    said = named(finding, roles_of(code))

    assert said.remedy == ""
    assert said.because.startswith("each waits; submit all first")


@pytest.mark.parametrize(
    ("code", "variable"),
    [
        ("y = (x + x.T).mean().compute()", "x"),
        ("df.groupby('...').v.sum().compute()", "df"),
        *(("dask.compute(df.a.sum())", "df"), ("da.ones(9).sum().compute()", None)),
        *(("make(3).sum().compute()", None), ("self.frame.sum().compute()", None)),
        ("for part in parts: part.compute()", None),
        ("a.compute(); b.compute()", None),
    ],
)
def test_the_collection_is_the_variable_that_the_computed_chain_begins_with(
    code: str, variable: str | None
) -> None:
    assert roles_of(code).get("<x>") == variable


@pytest.mark.parametrize(
    ("code", "role", "text"),
    [
        ("dask.compute(*[delayed(f)([k] * 9) for k in xs])", "call", "(lambda k: f([k] * 9))"),
        ("[client.submit(f, k, y) for k in ks]", "call", "(lambda k: f(k, y))"),
        ("[delayed(f)(delayed(g)(k)) for k in xs]", "call", "g"),  # what is a graph stays one
        ("y = da.ones((9,), chunks=2)", "chunks1", "y = da.ones((9,), chunks=factor * 2)"),
        ("da.ones((9, 9), chunks=2)", "chunks2", "da.ones((9, 9), chunks=factor * 2)"),
        ("da.ones(n, chunks=m)", "chunks1", None),
        ("dd.from_pandas(df, npartitions=9)", "name", "df"),
        ("client.submit(f, blobs[0])", "name", "blobs[0]"),
        ("client.submit(f, make())", "name", None),
        ("[client.submit(model.predict, i) for i in range(9)]", "name", None),
        ("[client.submit(model.predict, i) for i in range(9)]", "bound", "model"),
        ("client.submit(np.sum, x)", "bound", None),
        ("[df.set_index(k).loc[at].compute() for at in xs]", "indexed", "df.set_index(k)"),
        (
            "x.map_blocks(lambda b: np.abs(b) * mask[0], dtype=float)",
            "captured",
            "x.map_blocks(lambda b, mask: np.abs(b) * mask[0], dask.delayed(mask), dtype=float)",
        ),
        ("x.map_blocks(lambda b: b * mask + one)", "captured", None),
        ("for i in xs: f(i).compute()", "computed", "[f(i) for i in xs]"),
        ("z = y.min().compute()\na = y.max().compute()", "lazies", "y.min(), y.max()"),
        ("z = y.min().compute()\na = y.max().compute()", "results", "z, a"),
        ("z = y.min().compute()\nprint(y.max().compute())", "results", None),
        ("(z,) = dask.compute(y.min())\na = y.max().compute()", "results", None),
        ("z = y.min().compute()\na = (y - z).max().compute()", "lazies", None),
        ("got = []\nfor i in xs: got.append(f(i).compute())", "list", "got"),
        ("got = [f(i).compute() for i in xs]", "list", "got"),
        ("got = [1]\nfor i in xs: got.append(f(i).compute())", "list", None),
        ("got = [dask.compute(f(i)) for i in xs]", "list", None),
        ("for i in xs: f(i).compute() if i < 20 else None", "computed", None),
        ("for i in xs:\n  if g(i): ray.get(f.remote(i))", "tasks", None),
        ("for i in xs:\n  if ray.get(f.remote(i)): break", "tasks", None),
        ("for i in xs: g(i) and delayed(f)(i).compute()", "call", None),
    ],
)
def test_code_tells_calls_sizes_and_places(code: str, role: str, text: str | None) -> None:
    assert roles_of(code).get(f"<{role}>") == text


def test_an_item_of_a_list_stays_what_it_is() -> None:
    """What is scattered gets a name of its own, which the line says how to use."""
    finding = Finding("rule", "warn", "title", {}, "<name> = client.scatter([<name>])   # once")

    said = named(finding, roles_of("client.submit(f, blobs[0])"))

    assert said.remedy == "to_send = client.scatter([blobs[0]])   # once; pass `to_send`"
    assert named(finding, {"<name>": "a"}).remedy == "a = client.scatter([a])   # once"
    finding = replace(finding, remedy="range(len(<values>))")
    assert named(finding, {"<values>": "range(9)"}).remedy == "range(9)"


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ("for _ in xs: v = ray.get(f.remote(v))", True),
        ("for _ in xs:\n    ref = f.remote(v)\n    v = ray.get(ref)", True),
        ("for _ in xs:\n    v += 1\n    v = ray.get(f.remote(v))", True),
        ("for x in xs:\n    a = g(v)\n    r = ray.get(f.remote(a))\n    v = r * 2", True),
        ("for x in xs: out.append(ray.get(f.remote(out[-1])))", True),
        ("for x in xs:\n    got = ray.get(f.remote(x, w))\n    train(w, got)", True),
        ("for x in xs:\n    got = ray.get(f.remote(x))\n    print(x, got)", False),
        ("for x in xs: train(ray.get(f.remote(x)))", False),
        ("for x in xs: out.append(train(ray.get(f.remote(x))))", False),
        ("while error > 1:\n    error = ray.get(f.remote(x))", True),
        ("for x in xs: out.append(ray.get(f.remote(x)))", False),
        ("for x in xs:\n    got = ray.get(f.remote(x))\n    total += got", False),
        ("for x in xs:\n    a = ray.get(f.remote(x))\n    out.append(ray.get(g.remote(a)))", False),
        ("while k < 8:\n    out.append(ray.get(f.remote(k)))\n    k += 1", False),
        ("a = ray.get(f.remote(1))\nr = f.remote(a)\nb = ray.get(r)", True),
        ("a = ray.get(f.remote(1))\nb = ray.get(f.remote(2))\nc = ray.get(f.remote(b))", False),
        ("a = ray.get(f.remote())\nfor x in xs: out.append(ray.get(g.remote(a, x)))", False),
        ("a label of a recording", False),
    ],
)
def test_a_loop_whose_turns_need_each_other_is_a_chain(code: str, is_told: bool) -> None:
    assert is_chain(code) is is_told
