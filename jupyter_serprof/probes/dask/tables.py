"""Columns of the tables about Dask: the same for clusters and for local schedulers."""

from __future__ import annotations

from jupyter_serprof.model import TableColumn

TASK_COLUMNS = (
    TableColumn("prefix", "Prefix"),
    TableColumn("count", "Tasks", "count"),
    TableColumn("compute_min", "Min", "ns"),
    TableColumn("compute_p25", "25 %", "ns"),
    TableColumn("compute_p50", "Median", "ns"),
    TableColumn("compute_p75", "75 %", "ns"),
    TableColumn("compute_max", "Max", "ns"),
    TableColumn("compute_total", "Execution", "ns"),
    TableColumn("transfer_total", "Transfer", "ns"),
    TableColumn("disk_total", "Disk", "ns"),
    TableColumn("result_bytes", "Results", "bytes"),
    TableColumn("errors", "Errors", "count"),
)
COMPUTATION_COLUMNS = (
    TableColumn("computation", "Computation"),
    TableColumn("kind", "Call"),
    TableColumn("graph_bytes", "Graph", "bytes"),
    TableColumn("layers", "Layers", "count"),
    TableColumn("tasks", "Tasks", "count"),
    TableColumn("repeated_tasks", "Computed again", "count"),
    TableColumn("dispatched_bytes", "Sent to workers", "bytes"),
    TableColumn("duration", "Duration", "ns"),
)
