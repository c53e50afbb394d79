"""The picture in a real browser: JupyterLab, Notebook 7, files."""
