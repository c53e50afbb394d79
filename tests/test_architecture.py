"""The law of imports: they point one way, third-party libraries are loaded late, nothing is lost.

Each rule is a table here. A red test is answered by moving the code, not by another row.
"""

import ast
import doctest
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "jupyter_serprof"
BUILT = ("labextension", "static")
#: What keeps the house small enough for one head: lines of a file, files beside each other, lines.
#: The last one is 38,000, what Ray's whole road (3,500) and the live line (900) were given, and the
#: 1,715 by which these and the causes went over it.
LONGEST_FILE, MOST_FILES, MOST_LINES = 400, 14, 44_115
#: The same for the tests, which is to go down, to 38,000, and for the front end.
MOST_TEST_LINES, MOST_FRONT_LINES = 46_610, 10_500
#: So many class names may stand in more than one file.
MOST_SHARED_NAMES = 3

_DOCUMENT = {"model", "analysis"}
_MEASURE = {*_DOCUMENT, "capture", "objects", "probes"}
_ROUND = {*_MEASURE, "experiments.engine"}
_PAIRS = {*_ROUND, "experiments.roundtrip"}
_GRAPHS = {*_PAIRS, "experiments.compare"}
_SIZES = {*_GRAPHS, "experiments.graphs"}
_EXPERIMENTS = {
    f"experiments.{name}"
    for name in (
        *("engine", "roundtrip", "compare", "graphs", "chunks", "sizes"),
        *("blame", "remedies"),
    )
}
#: What each layer may import besides itself and the standard library: a folder of experiments, and
#: one of views, is a layer of its own.
LAYERS = {
    "model": set[str](),
    "capture": {"model"},
    "objects": {"model", "capture"},
    "analysis": {"model"},
    "probes": {"model", "capture", "objects"},
    "timelines": _DOCUMENT,
    "experiments": set[str](),
    "experiments.engine": _MEASURE,
    "experiments.roundtrip": _ROUND,
    "experiments.compare": _PAIRS,
    "experiments.graphs": _GRAPHS,
    "experiments.chunks": _SIZES,
    "experiments.sizes": _SIZES,
    "experiments.blame": _SIZES,
    "experiments.remedies": {*_SIZES, "experiments.blame"},
    "views.kit": _DOCUMENT,
    "views.blame": {*_DOCUMENT, "views.kit"},
    "views.compare": {*_DOCUMENT, "views.kit"},
    "views.waterfall": {*_DOCUMENT, "views.kit", "views.blame"},
    "views.sweep": {*_DOCUMENT, "views.kit", "views.waterfall"},
    "views": {
        *_DOCUMENT,
        *(f"views.{name}" for name in ("kit", "blame", "compare", "waterfall", "sweep")),
    },
    "views.notebook": {*_DOCUMENT, "views", "views.kit", "views.waterfall"},
    "testing": {"model", "capture"},
    "api": {
        *(*_MEASURE, *_EXPERIMENTS, "timelines"),
        *("views", "views.blame", "views.compare", "views.notebook"),
    },
    "panel": {"model", "api", *_EXPERIMENTS, "views.notebook"},
    "magics": {"model", "api", "panel"},
    "scripts": {"model"},
    "cli": {"model", "api", "scripts", "__init__"},
    "__init__": {"model", "api", "magics"},
    "__main__": {"cli", "__init__"},
}
#: The files that are about a third-party library; no other file imports it.
OWNERS = {
    "IPython": ("__init__", "magics", "magics.*"),
    "PIL": ("views.kit.raster",),
    "anywidget": ("views.notebook.widget",),
    "cloudpickle": (
        *("probes.pickle", "probes.dask.graph.picklers", "probes.dask.local.process_clock"),
        "probes.dask.agent",
        *("objects.classes", "objects.culprits", "objects.picklers"),
        "experiments.roundtrip.by_pickle",
        *("experiments.blame.recording", "experiments.remedies.value", "experiments.remedies.ways"),
    ),
    "dask": ("probes.dask.*", "experiments.*"),
    "distributed": ("probes.dask.*", "experiments.*"),
    "ipywidgets": ("views.notebook.widget", "panel.*"),
    "lz4": ("experiments.roundtrip.by_pickle",),
    "matplotlib": ("views.figure",),
    "numpy": (
        *("analysis.sizes.fit", "experiments.compare.verdict"),
        *("objects.equality", "objects.picklers"),
        *("experiments.sizes.subject", "experiments.roundtrip.by_pickle"),
        "experiments.remedies.forms",
    ),
    "pandas": (
        "api.documents",
        "views.flat",
        "experiments.sizes.subject",
        "experiments.remedies.forms",
    ),
    "psutil": ("capture.machine",),
    "pyarrow": (
        *("views.flat", "experiments.sizes.subject", "experiments.roundtrip.by_pickle"),
        "experiments.remedies.forms",
    ),
    "ray": ("probes.ray.*", "experiments.roundtrip.by_ray", "experiments.remedies.ways"),
    "traitlets": ("views.notebook.widget",),
    "zstandard": ("experiments.roundtrip.by_pickle",),
}
GUARDS = ("TYPE_CHECKING", "typing.TYPE_CHECKING")
#: Where users and other packages start; probes start at their entry points in pyproject.toml.
STARTS = ("__init__", "__main__", "testing.__init__")
#: Slow to load, so that loading this package must not load them.
HEAVY = {
    *("ray", "dask", "distributed", "matplotlib", "pandas", "pyarrow"),
    *("ipywidgets", "anywidget", "numpy"),
}


class Import(NamedTuple):
    """One import: what (absolute), on which line, inside a function, for type checkers only."""

    target: str
    line: int
    is_late: bool
    is_typing: bool

    @property
    def is_ours(self) -> bool:
        """Whether it stays inside the package."""
        return self.target.split(".")[0] == PACKAGE

    @property
    def library(self) -> str | None:
        """The third-party library, None for the package itself and the standard library."""
        top = self.target.split(".")[0]
        return None if self.is_ours or top in sys.stdlib_module_names else top


# Reading files. A module is named without the package: "model.trace", "model.__init__", "api".


@cache
def package_files() -> dict[str, str]:
    home = ROOT / PACKAGE
    paths = (path.relative_to(home) for path in sorted(home.rglob("*.py")))
    return {
        ".".join(path.with_suffix("").parts): (home / path).read_text("utf-8")
        for path in paths
        if path.parts[0] not in BUILT
    }


@cache
def imports(module: str, source: str) -> list[Import]:
    """Return the imports of a module, ``import_module("x")`` and ``__import__("x")`` included."""
    walked = _walk(ast.parse(source), is_late=False, is_typing=False)
    return [
        Import(target, line, is_late, is_typing)
        for node, is_late, is_typing in walked
        for target, line in _targets(node, module)
    ]


def _walk(node: ast.AST, *, is_late: bool, is_typing: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    for child in ast.iter_child_nodes(node):
        late = is_late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing = is_typing or child in _typing_only(node)
        yield child, late, typing
        yield from _walk(child, is_late=late, is_typing=typing)


def _typing_only(node: ast.AST) -> list[ast.stmt]:
    is_guard = isinstance(node, ast.If) and ast.unparse(node.test) in GUARDS
    return node.body if is_guard and isinstance(node, ast.If) else []


def _targets(node: ast.AST, module: str) -> list[tuple[str, int]]:
    if isinstance(node, ast.Import):
        return [(alias.name, node.lineno) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        parents = [PACKAGE, *module.split(".")][: -node.level] if node.level else []
        home = ".".join([*parents, *([node.module] if node.module else [])])
        return [(f"{home}.{alias.name}", node.lineno) for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
        ("import_module", "__import__")
    ):
        named = [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
        return [(str(name), node.lineno) for name in named]
    return []


def resolved(target: str, modules: Mapping[str, str]) -> str:
    """Return the module of the package in which an imported name lives."""
    steps = target.split(".")[1:]
    while steps and ".".join(steps) not in modules:
        if ".".join([*steps, "__init__"]) in modules:
            return ".".join([*steps, "__init__"])
        steps.pop()
    return ".".join(steps) or "__init__"


def layer_of(module: str) -> str:
    """Return the layer of a module: the room in which it stands, as far as that is one."""
    steps = module.removesuffix(".__init__").split(".")
    rooms = (".".join(steps[:count]) for count in range(len(steps), 0, -1))
    return next((room for room in rooms if room in LAYERS), steps[0])


# The rules, as functions of sources, so that the tests below can also show them bad ones.


def breaches(files: Mapping[str, str]) -> list[str]:
    """Return every import that breaks a rule, as ``module:line what``."""
    found = []
    for module, source in files.items():
        layer = layer_of(module)
        if layer not in LAYERS:
            found.append(f"{module}:1 stands in no layer")
            continue
        for entry in imports(module, source):
            problem = _misdirected(entry, layer, files) or _unowned(entry, module)
            found += [f"{module}:{entry.line} {problem}"] if problem else []
    return found


def _misdirected(entry: Import, layer: str, files: Mapping[str, str]) -> str | None:
    if not entry.is_ours or entry.target == f"{PACKAGE}.__version__":
        return None
    other = layer_of(resolved(entry.target, files))
    return None if other in LAYERS[layer] | {layer} else f"{layer} imports {other}"


def _unowned(entry: Import, module: str) -> str | None:
    library = entry.library
    if library is None or entry.is_typing:
        return None
    if not entry.is_late:
        return f"imports {library} while it is loaded"
    owners = OWNERS.get(library, ())
    name = module.removesuffix(".__init__")
    is_owner = any(fnmatch(name, owner) for owner in owners)
    return None if is_owner else f"imports {library}, which it is not about"


def orphans(files: Mapping[str, str], starts: set[str]) -> set[str]:
    """Return the modules that no start reaches, by imports or by their full name in a text."""
    reached: set[str] = set()
    waiting = [start for start in starts if start in files]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += _used(module, files)
    return set(files) - reached


def _used(module: str, files: Mapping[str, str]) -> set[str]:
    named = {name for name in _texts(files[module]) if name.startswith(f"{PACKAGE}.")}
    is_lazy = "= lazy(__name__)" in files[module]  # what is imported for type checkers is used
    run = {e.target for e in imports(module, files[module]) if is_lazy or not e.is_typing}
    used = {resolved(target, files) for target in run | named if target.startswith(PACKAGE)}
    steps = [name.split(".") for name in used | {module}]
    parents = {".".join([*step[:i], "__init__"]) for step in steps for i in range(len(step))}
    return used | (parents & set(files))


def _texts(source: str) -> set[str]:
    nodes = ast.walk(ast.parse(source))
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def unread_files(names: list[str], files: Mapping[str, str]) -> list[str]:
    texts = {text for source in files.values() for text in _texts(source)}
    return [name for name in names if not any(name in text for text in texts)]


def too_long(files: Mapping[str, str]) -> list[str]:
    return [name for name, text in files.items() if lines_of(text) > LONGEST_FILE]


def lines_of(source: str) -> int:
    return len(source.splitlines())


def crowded(files: Mapping[str, str]) -> list[str]:
    """Return the folders with too many files beside each other; door plates are not counted."""
    counts = Counter(name.rpartition(".")[0] for name in files if not name.endswith("__init__"))
    return [folder for folder, count in counts.items() if count > MOST_FILES]


def circle(files: Mapping[str, str]) -> list[str]:
    """Return rooms that import each other in a ring, at run time; none if there is no ring."""
    # A room may use the rooms in it and be used by them.
    arrows: dict[str, set[str]] = {}
    for module, source in files.items():
        here = module.rpartition(".")[0]
        for entry in imports(module, source):
            there = resolved(entry.target, files).rpartition(".")[0]
            is_run = entry.is_ours and not entry.is_typing
            is_inside = f"{here}.".startswith(f"{there}.") or f"{there}.".startswith(f"{here}.")
            if is_run and here and there and not is_inside:
                arrows.setdefault(here, set()).add(there)
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def shared_names(files: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of classes that stand in several files, and in which."""
    homes: dict[str, list[str]] = {}
    for module, source in files.items():
        names = {n.name.lstrip("_") for n in ast.walk(ast.parse(source)) if type(n) is ast.ClassDef}
        for name in names:
            homes.setdefault(name, []).append(module)
    return {name: found for name, found in homes.items() if len(found) > 1}


def bound_twice(files: Mapping[str, str]) -> list[str]:
    """Return the constants that a module binds twice: whoever joins two files loses one value."""
    counts = Counter(
        f"{module}: {name.id}"
        for module, source in files.items()
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    )
    return [name for name, count in counts.items() if count > 1]


def half_bound(files: Mapping[str, str]) -> list[str]:
    """Return every ``__get__`` that is not told the owner: early 3.12 and 3.13 end the process."""
    # A method of C that asks for its class reads the owner (python/cpython#132747).
    calls = [
        (module, node)
        for module, source in files.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    return [
        f"{module}:{node.lineno}"
        for module, node in calls
        if ast.unparse(node.func).endswith("__get__") and len(node.args) + len(node.keywords) < 2
    ]


# The package keeps the rules


def test_imports_keep_the_direction_and_the_owners() -> None:
    """A reader of one layer needs no other than those below; a library has its few files."""
    files = package_files()

    found = breaches(files)

    assert "model.trace" in files
    assert found == []


def test_the_layers_have_no_circle_and_probes_and_views_never_meet() -> None:
    """Through whatever is between them: a view works on any document, a probe without a screen."""
    order = list(TopologicalSorter(LAYERS).static_order())

    seen: dict[str, set[str]] = {}
    for layer in order:
        seen[layer] = LAYERS[layer].union(*(seen[below] for below in LAYERS[layer]))

    assert "views" not in seen["probes"]
    assert "probes" not in seen["views"]
    assert seen["model"] == set()
    assert seen["capture"] == {"model"}
    assert circle(package_files()) == []


def test_no_file_is_longer_than_400_lines() -> None:
    """A file is about one noun or one verb; longer ones are split."""
    files = package_files()

    assert too_long(files) == []


def test_the_house_keeps_its_size() -> None:
    """What comes has to make room; no room has more files than one looks through."""
    files = package_files()

    assert sum(map(lines_of, files.values())) <= MOST_LINES
    assert crowded(files) == []
    assert _lines_below("tests", "*.py") <= MOST_TEST_LINES
    assert _lines_below("labextension/src", "*.ts") <= MOST_FRONT_LINES


def _lines_below(folder: str, name: str) -> int:
    return sum(lines_of(path.read_text("utf-8")) for path in (ROOT / folder).rglob(name))


@pytest.mark.parametrize(
    "folder",
    sorted(
        ".".join(path.relative_to(ROOT).parts[:-1])
        for path in (ROOT / PACKAGE).rglob("__init__.py")
        # Stands alone inside a scheduler; cases for others, each with its own.
        if path.parent.name not in ("jupyter_serprof", "agent", "testing", "timelines")
    ),
)
def test_a_door_plate_shows_a_real_run(folder: str) -> None:
    module = import_module(folder)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

    result = doctest.testmod(module, optionflags=flags)

    assert "\nIn: " in (module.__doc__ or "")
    assert " Out: " in (module.__doc__ or "")
    assert (result.attempted > 0, result.failed) == (True, 0)


def test_a_class_name_means_one_thing() -> None:
    """A reader who knows what it is in one file knows it in all, but for a few."""
    found = shared_names(package_files())

    assert len(found) <= MOST_SHARED_NAMES, found


def test_a_constant_has_one_value() -> None:
    """The second binding wins also above it, where another value is meant."""
    assert bound_twice(package_files()) == []
    assert bound_twice({"a": "MOST = 4\nWIDE, MOST = 1, 3\nx: int = 1"}) == ["a: MOST"]


def test_what_is_bound_by_hand_is_told_its_owner() -> None:
    """Without it, ``pickle.Pickler.dump.__get__`` ends the process on Python 3.12 to 3.13.3."""
    assert half_bound(package_files()) == []


def entry_points() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [project.get("scripts", {}), *project.get("entry-points", {}).values()]
    targets = [target.partition(":")[0] for group in groups for target in group.values()]
    return {resolved(target, package_files()) for target in targets}


def test_no_file_is_an_orphan() -> None:
    """Whatever is shipped is used: reached from the public names or from an entry point."""
    files = package_files()

    assert orphans(files, {*STARTS, *entry_points()}) == set()


def test_no_data_file_is_an_orphan() -> None:
    """Schemas and other data that are shipped are read by some module."""
    home = ROOT / PACKAGE
    paths = (path.relative_to(home) for path in home.rglob("*") if path.is_file())
    kept = (path for path in paths if path.parts[0] not in BUILT and path.name != "py.typed")
    data = [path.name for path in kept if path.suffix not in {".py", ".pyc"}]

    found = unread_files(data, package_files())

    assert "trace.v1.json" in data
    assert found == []


@pytest.mark.parametrize("module", ["", ".model", ".api", ".magics", ".testing"])
def test_importing_the_package_loads_no_heavy_library(module: str) -> None:
    """``import jupyter_serprof`` and ``%load_ext`` cost milliseconds, whatever is installed."""
    name = f"{PACKAGE}{module}"

    program = f"import sys, {name}; print(*sys.modules)"
    printed = subprocess.check_output([sys.executable, "-c", program], text=True)

    loaded = set(printed.split())
    assert name in loaded
    assert loaded & HEAVY == set()


def test_a_first_recording_imports_what_it_needs() -> None:
    """Nobody waits for sweeps, comparisons, remedies, analysis and drawings before code runs."""
    program = (
        "import sys; from jupyter_serprof import api; api.record('x').start(); print(*sys.modules)"
    )
    printed = subprocess.check_output([sys.executable, "-c", program], text=True)

    rooms = {name.split(".")[1] for name in printed.split() if name.startswith(f"{PACKAGE}.")}
    experiments = {name for name in printed.split() if name.startswith(f"{PACKAGE}.experiments.")}
    assert rooms == {"api", "capture", "experiments", "model", "objects", "probes"}
    assert {name.split(".")[2] for name in experiments} == {"engine"}


@pytest.mark.parametrize("room", ["api", "model"])
def test_a_name_of_a_lazy_room_is_what_its_home_calls_so(room: str) -> None:
    """Type checkers and Python read the same imports."""
    found = imports(f"{room}.__init__", package_files()[f"{room}.__init__"])
    named = [entry.target.rpartition(".") for entry in found if entry.is_typing]

    module = import_module(f"{PACKAGE}.{room}")

    assert named
    assert all(getattr(module, each) is getattr(import_module(at), each) for at, _, each in named)


# The rules see what they forbid


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        # Direction, in every way of writing an import.
        ("model.bad", "import jupyter_serprof.capture.clock", "1 model imports capture"),
        ("model.bad", "from jupyter_serprof import capture", "1 model imports capture"),
        ("model.bad", "from ..capture import clock", "1 model imports capture"),
        ("model.bad", "from ..capture.clock import now", "1 model imports capture"),
        ("model.bad", "from jupyter_serprof import record", "1 model imports __init__"),
        ("model.bad", "def f():\n from jupyter_serprof.api import record", "2 model imports api"),
        ("model.bad", "if TYPE_CHECKING:\n import jupyter_serprof.api", "2 model imports api"),
        ("model.bad", "import_module('jupyter_serprof.api')", "1 model imports api"),
        ("capture.bad", "import jupyter_serprof.probes", "1 capture imports probes"),
        ("capture.bad", "import jupyter_serprof.analysis", "1 capture imports analysis"),
        ("probes.bad", "import jupyter_serprof.views.text", "1 probes imports views"),
        ("probes.bad", "import jupyter_serprof.analysis", "1 probes imports analysis"),
        ("views.bad", "import jupyter_serprof.probes", "1 views imports probes"),
        ("views.kit.bad", "import jupyter_serprof.views.text", "1 views.kit imports views"),
        ("views.bad", "import jupyter_serprof.views.notebook", "1 views imports views.notebook"),
        ("experiments.engine.bad", "import jupyter_serprof.experiments.sizes", "1 experiments.eng"),
        ("experiments.engine.bad", "import jupyter_serprof.views.text", "1 experiments.engine im"),
        ("experiments.engine.bad", "import jupyter_serprof.api", "1 experiments.engine imports"),
        ("views.bad", "import jupyter_serprof.capture", "1 views imports capture"),
        ("analysis.bad", "import jupyter_serprof.views.text", "1 analysis imports views"),
        ("analysis.bad", "import jupyter_serprof.capture", "1 analysis imports capture"),
        ("api", "import jupyter_serprof.magics", "1 api imports magics"),
        ("magics.bad", "from jupyter_serprof.views.text import text", "1 magics imports views"),
        ("testing", "import jupyter_serprof.probes", "1 testing imports probes"),
        ("helpers", "", "1 stands in no layer"),
        # Third-party libraries.
        ("model.bad", "import numpy", "1 imports numpy while it is loaded"),
        ("model.bad", "def f():\n import numpy", "2 imports numpy, which it is not about"),
        ("views.figure", "from matplotlib.figure import F", "1 imports matplotlib while it is"),
        ("views.figure", "try:\n import matplotlib\nexcept E: ...", "2 imports matplotlib while"),
        ("views.figure", "class A:\n import matplotlib", "2 imports matplotlib while it is loaded"),
        ("views.figure", "if not TYPE_CHECKING:\n import matplotlib", "2 imports matplotlib while"),
        ("views.text", "def f():\n import matplotlib", "2 imports matplotlib, which it is not"),
        (
            "views.figure",
            "if TYPE_CHECKING: ...\nelse:\n import matplotlib",
            "3 imports matplotlib",
        ),
        ("magics.bad", "import IPython", "1 imports IPython while it is loaded"),
        ("api", "def f():\n import IPython", "2 imports IPython, which it is not about"),
        ("probes.bad", "def f():\n import ray", "2 imports ray, which it is not about"),
        ("probes.bad", "def f():\n import_module('ray')", "2 imports ray, which it is not about"),
        ("probes.bad", "def f():\n __import__('ray')", "2 imports ray, which it is not about"),
        ("api", "def f():\n import brand_new", "2 imports brand_new, which it is not about"),
    ],
)
def test_a_bad_import_is_found(module: str, source: str, found: str) -> None:
    """However it is written, an import against the rules is named with its line."""
    rooms = ("magics", "model", "probes", "capture", "analysis", "views.notebook")
    plates = (f"{room}.__init__" for room in (*rooms, "experiments.sizes"))
    good = dict.fromkeys(("__init__", "api", "views.text", "capture.clock", *plates), "")

    seen = breaches({**good, module: source})

    assert len(seen) == 1
    assert seen[0].startswith(f"{module}:{found}")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("model.good", "import json, zlib\nfrom jupyter_serprof.model import Trace"),
        ("model.good", "from . import trace\nfrom .trace import Trace"),
        ("model.good", "if TYPE_CHECKING:\n import numpy"),
        ("capture.machine", "def f():\n from jupyter_serprof import __version__"),
        ("capture.machine", "def f():\n import psutil"),
        ("probes.ray.driver", "async def f():\n from ray.util import state"),
        ("views.figure", "class A:\n def f(self):\n  from matplotlib.figure import Figure"),
        ("magics.__init__", "def f():\n from IPython import get_ipython"),
        ("__init__", "def load_ipython_extension(s):\n from jupyter_serprof.magics import load"),
        ("views.text", "matplotlib = sys.modules.get('matplotlib')"),
    ],
)
def test_a_good_import_is_left_alone(module: str, source: str) -> None:
    """Late, in the file that is about it, or for type checkers only: as the rules want it."""
    files = {"model.__init__": "", "model.trace": "", "magics.__init__": "", "__init__": ""}

    assert breaches({**files, module: source}) == []


def test_an_orphan_is_found() -> None:
    """Imported by nobody, by orphans only, by itself only, or for type checkers only: unused."""
    files = {
        "__init__": "HOME = 'jupyter_serprof.api'\nif TYPE_CHECKING:\n import jupyter_serprof.d",
        "api": "from jupyter_serprof.views.text import text",
        "views.__init__": "",
        "views.text": "",
        "probes.ray_driver": "from jupyter_serprof.probes import ladder",
        "probes.ladder": "",
        "a": "import jupyter_serprof.b",
        "b": "import jupyter_serprof.a",
        "c": "import jupyter_serprof.c",
        "d": "",
    }

    found = orphans(files, {"__init__", "probes.ray_driver"})

    assert found == {"a", "b", "c", "d"}


def test_unread_data_and_long_files_are_found() -> None:
    """A schema that nobody reads, a file of 401 lines."""
    files = {"model.schema": "NAME = 'trace.v1.json'", "long": "\n" * 401, "page": "\n" * 400}

    unread = unread_files(["trace.v1.json", "old.v0.json"], files)

    assert unread == ["old.v0.json"]
    assert too_long(files) == ["long"]


def test_a_crowded_folder_and_a_shared_name_are_found() -> None:
    """Fifteen files beside each other; a class that stands in two files, once private."""
    files = {f"room.{at}": "" for at in range(15)} | {f"hall.{at}": "" for at in range(14)}
    classes = {"room.a": "class Row: ...", "hall.b": "def f():\n class _Row: ...", "c": "Row = 1"}

    assert crowded({**files, "hall.__init__": ""}) == ["room"]
    assert shared_names(classes) == {"Row": ["room.a", "hall.b"]}


def test_a_ring_of_rooms_is_found() -> None:
    """Also late and through a third room; a room and what is in it are one."""
    files = {
        "a.one": "from jupyter_serprof.b import two",
        "b.two": "def f():\n from jupyter_serprof.c.three import x",
        "c.three": "if TYPE_CHECKING:\n import jupyter_serprof.a.one",
        "c.in.four": "import jupyter_serprof.c.three",
    }

    assert circle(files) == []
    assert set(circle({**files, "c.five": "import jupyter_serprof.a.one"})) == {"a", "b", "c"}


def test_a_get_without_an_owner_is_found() -> None:
    files = {
        "bad": "dump = pickle.Pickler.dump.__get__(pickler)",
        "good": "dump = pickle.Pickler.dump.__get__(pickler, type(pickler))",
    }

    assert half_bound(files) == ["bad:1"]
