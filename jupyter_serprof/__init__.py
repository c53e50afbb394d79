"""See where serialization time goes: in pickle, cloudpickle, Ray and Dask, from one line typed."""

from __future__ import annotations

__version__ = "0.1.0"


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Tell JupyterLab where the prebuilt extension lies inside this package."""
    return [{"src": "labextension", "dest": "jupyter-serprof"}]
