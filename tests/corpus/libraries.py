"""Libraries around Ray and Dask: what their own pages advise for parallel work."""

from __future__ import annotations

import pickle

import dask
import numpy as np
import pandas as pd

from . import entry


@entry("dask: joblib.readthedocs.io/parallel#batching", "dask.tiny-tasks", needs=("joblib",))
def joblib_on_dask_with_tiny_calls():
    """Each call of joblib as a task of its own, without batches."""
    import joblib

    def run(batch):
        with joblib.parallel_config(backend="dask"):
            calls = (joblib.delayed(pow)(x, 2) for x in range(300))
            return joblib.Parallel(batch_size=batch)(calls)

    return (lambda: run(1)), (lambda: run(150))


@entry("none: joblib.readthedocs.io/parallel#thread-based", "joblib.pool-start", needs=("joblib",))
def joblib_processes_for_numpy():
    """Processes and pickles for a function that releases the lock: threads need neither."""
    import joblib

    blocks = [np.random.default_rng(at).random((1000, 1000)) for at in range(6)]

    def run(prefer):
        if prefer == "processes":
            joblib.externals.loky.get_reusable_executor(max_workers=2).shutdown(wait=True)
        calls = (joblib.delayed(np.sort)(block) for block in blocks)
        parts = joblib.Parallel(n_jobs=2, prefer=prefer, max_nbytes=None)(calls)
        return [float(part[0, 0]) for part in parts]

    return (lambda: run("processes")), (lambda: run("threads"))


@entry("dask: ml.dask.org/joblib#scatter", "dask.large-object", needs=("joblib", "sklearn"))
def scikit_learn_data_in_each_fit():
    """The training data captured by the function of each fit: joblib scatters arguments only."""
    import joblib

    x = np.random.default_rng(0).random((60_000, 20))

    def fit(data, at):
        return float(data[: 1000 + at].mean())

    def run(fit, *given):
        with joblib.parallel_config(backend="dask"):
            return joblib.Parallel()(joblib.delayed(fit)(*given, at) for at in range(16))

    return (lambda: run(lambda at: fit(x, at))), (lambda: run(fit, x))


@entry("ray: scikit-learn.org/model_persistence", "ray.same-object", needs=("sklearn",))
def scikit_learn_model_by_value():
    """A forest by value in each task: pickled again each time."""
    import ray
    from sklearn.ensemble import RandomForestRegressor

    draw = np.random.default_rng(0)
    model = RandomForestRegressor(30, random_state=0).fit(draw.random((4000, 5)), draw.random(4000))
    rows = draw.random((10, 5))

    @ray.remote
    def predict(fitted, row):
        return float(fitted.predict(row[None])[0])

    def healthy():
        ref = ray.put(model)
        return ray.get([predict.remote(ref, row) for row in rows])

    return (lambda: ray.get([predict.remote(model, row) for row in rows])), healthy


@entry("ray: docs.pola.rs/DataFrame.to_arrow", "ray.not-zero-copy", needs=("polars",))
def polars_frame():
    """A polars frame: in-band and copied by each get, where an Arrow table is mapped."""
    import polars as pl
    import ray

    frame = pl.DataFrame({"x": np.arange(6_000_000.0)})

    def antipattern():
        ref = ray.put(frame)
        return [ray.get(ref).height for _ in range(3)]

    def healthy():
        ref = ray.put(frame.to_arrow())
        return [pl.from_arrow(ray.get(ref)).height for _ in range(3)]

    return antipattern, healthy


@entry("dask: docs.pola.rs/multiprocessing", "dask.large-object", needs=("polars",))
def polars_in_each_submit():
    """A polars frame by value in each submit."""
    import polars as pl
    from distributed import default_client

    client, frame = default_client(), pl.DataFrame({"x": np.arange(1_000_000.0)})

    def head(data, n):
        return float(data["x"][n])

    def heads(given):
        return client.gather([client.submit(head, given, n, pure=False) for n in range(10)])

    return (lambda: heads(frame)), (lambda: heads(client.scatter(frame, broadcast=True)))


@entry("none: arrow.apache.org/python/ipc#slices", "pickle.slice", needs=("pyarrow",))
def pyarrow_slices():
    """Slices of an Arrow table: pickle writes the whole buffers of each."""
    import pyarrow as pa

    table = pa.table({"x": np.arange(2_000_000.0)})
    slices = [table.slice(at * 1000, 1000) for at in range(20)]

    def healthy():
        own = [part.take(pa.array(range(1000))) for part in slices]
        return [len(pickle.loads(pickle.dumps(part, 5))) for part in own]

    return (lambda: [len(pickle.loads(pickle.dumps(part, 5))) for part in slices]), healthy


@entry("ray: pandas.pydata.org/user_guide/text", "ray.object-columns", needs=("pyarrow",))
def pandas_object_strings():
    """A frame with strings as objects, as the result of a task."""
    import ray

    @ray.remote
    def load(kind):
        words = [f"word {at}" for at in range(200_000)]
        return pd.DataFrame({"w": pd.Series(words, dtype=kind)})

    def run(kind):
        return [len(frame) for frame in ray.get([load.remote(kind) for _ in range(3)])]

    return (lambda: run(object)), (lambda: run("str"))


@entry("dask: docs.xarray.dev/user-guide/dask#chunking", "dask.tiny-tasks", needs=("xarray",))
def xarray_tiny_chunks():
    """A chunk for each time step."""
    import dask.array as da
    import xarray as xr

    def mean(chunk):
        values = da.ones((600, 50, 50), chunks=(chunk, 50, 50))
        return float(xr.DataArray(values, dims=("t", "y", "x")).mean().compute())

    return (lambda: mean(1)), (lambda: mean(300))


@entry("dask: docs.xarray.dev/user-guide/dask#best-practices", "dask.recompute", needs=("xarray",))
def xarray_variables_one_by_one():
    """Each variable of a dataset computed alone: what they share is computed again."""
    import dask.array as da
    import xarray as xr

    def dataset():
        noise = da.random.default_rng(0).random((2000, 3000), chunks=(250, 3000))
        base = xr.DataArray(noise.map_blocks(np.sort, axis=1), dims=("t", "x"))
        return xr.Dataset({"least": base[:, 0].min(), "mean": base.mean(), "most": base.max()})

    def antipattern():
        data = dataset()
        return [float(data[name].compute()) for name in data]

    def healthy():
        data = dataset().compute()
        return [float(data[name]) for name in data]

    return antipattern, healthy


@entry("ray: networkx.org/convert#scipy", "ray.same-object", needs=("networkx",))
def networkx_graph_by_value():
    """A graph of dicts in dicts by value in each task: each node is pickled each time."""
    import networkx as nx
    import ray

    graph = nx.gnm_random_graph(4000, 30_000, seed=0)
    matrix = nx.to_scipy_sparse_array(graph, format="csr")

    @ray.remote
    def degree(of, node):
        return of.degree[node] if hasattr(of, "degree") else int(of[[node]].sum())

    def healthy():
        ref = ray.put(matrix)
        return ray.get([degree.remote(ref, node) for node in range(8)])

    return (lambda: ray.get([degree.remote(graph, node) for node in range(8)])), healthy


@entry("dask: statsmodels.org/remove_data", "dask.large-gather", needs=("statsmodels",))
def statsmodels_results_with_their_data():
    """Fitted results that carry the data they were fitted to, gathered for a few numbers."""
    import statsmodels.api as sm

    def fit(seed):
        x = np.random.default_rng(seed).random((100_000, 8))
        return sm.OLS(x[:, 0], x[:, 1:]).fit()

    def antipattern():
        fits = dask.compute(*[dask.delayed(fit)(seed) for seed in range(8)])
        return [float(found.params[0]) for found in fits]

    def healthy():
        fits = [dask.delayed(fit)(seed).params for seed in range(8)]
        return [float(params[0]) for params in dask.compute(*fits)]

    return antipattern, healthy
