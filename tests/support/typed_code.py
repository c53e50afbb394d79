"""Code in which each place that a remedy names stands once."""

RAY_CODE = """
pickle.dumps(sent)
kept = [ray.put(sent) for sent in parts]
ref = use.remote(ray.get(load.remote()))
results = [work.remote(row) for row in rows]
for ref in refs:
    handle(ray.get(ref))
for _ in range(9):
    handle(ray.get(actor.step.remote()))
"""
DASK_CODE = """
pickle.dumps(sent)
x.mean().compute()
x.merge(small)
for row in rows:
    client.submit(work, row).result()
for part in parts:
    part.compute()
"""
