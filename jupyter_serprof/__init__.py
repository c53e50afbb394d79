"""See where the wall time of serialization goes, inside the notebook."""

__version__ = "0.1.0"


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Tell Jupyter where the built JupyterLab extension is and what it is called."""
    return [{"src": "labextension", "dest": "jupyter-serprof"}]
