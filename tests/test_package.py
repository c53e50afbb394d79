"""The package as it is shipped and installed: wheel, lock file, labextension, versions."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import jupyter_serprof
from jupyter_serprof.views.notebook.page import KINDS

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTION = f"jupyter_serprof-{jupyter_serprof.__version__}"
LABEXTENSION = "share/jupyter/labextensions/jupyter-serprof"
#: It travels in every widget and lies in every exported page.
MOST_BUNDLE_BYTES = 40 * 1024
#: One version, and for which Python or system; no address, no file.
CONSTRAINT = re.compile(r"[\w-]+==[\w.]+( ; [\w.<>=!' ()]+)?")
BUNDLES = [f"{kind}.{end}" for kind in KINDS for end in ("js", "css", "html")]


def run(*command: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a command in the source tree; its output is text."""
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False
    )


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not on PATH; it builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    built = run(uv, "build", "--wheel", "--out-dir", str(folder), timeout_s=300)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture
def git() -> str:
    program = shutil.which("git")
    if program is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    return program


def package_json() -> dict[str, object]:
    content: dict[str, object] = json.loads((ROOT / "labextension/package.json").read_text())
    return content


def urls_in(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Give every text with a host in it, with the keys that lead there."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from urls_in(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from urls_in(inner, path)
    elif isinstance(value, str) and "://" in value:
        yield path, value


def name_of(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0]


def test_wheel_holds_every_file_once(wheel_names: list[str]) -> None:
    """The labextension is not shipped a second time inside the Python package."""
    repeated = [name for name, count in Counter(wheel_names).items() if count > 1]

    assert repeated == []
    assert [name for name in wheel_names if name.startswith("jupyter_serprof/labextension")] == []


@pytest.mark.parametrize(
    "name",
    [
        "jupyter_serprof/__init__.py",
        "jupyter_serprof/py.typed",
        "jupyter_serprof/model/trace.v1.json",
        "jupyter_serprof/model/sweep.v1.json",
        *(f"jupyter_serprof/static/{name}" for name in BUNDLES),
        f"{DISTRIBUTION}.data/data/{LABEXTENSION}/package.json",
        f"{DISTRIBUTION}.data/data/{LABEXTENSION}/install.json",
        f"{DISTRIBUTION}.data/data/{LABEXTENSION}/schemas/jupyter-serprof/plugin.json",
        f"{DISTRIBUTION}.dist-info/licenses/LICENSE",
        f"{DISTRIBUTION}.dist-info/entry_points.txt",
    ],
)
def test_wheel_contains(wheel_names: list[str], name: str) -> None:
    """An installation from the wheel needs neither Node nor the source tree."""
    assert wheel_names.count(name) == 1


def test_wheel_contains_the_built_front_end(wheel_names: list[str]) -> None:
    """One entry point for JupyterLab, and nothing of the tools that built it."""
    static = [name for name in wheel_names if f"{LABEXTENSION}/static/" in name]

    assert sum("/remoteEntry." in name and name.endswith(".js") for name in static) == 1
    assert [name for name in wheel_names if "node_modules" in name or name.endswith(".ts")] == []
    # The builder's log holds the absolute paths of the machine that built.
    assert [name for name in wheel_names if name.endswith("build_log.json")] == []


def test_lock_file_names_no_host() -> None:
    """Everybody installs from the registry that they use; only sponsors' pages are named."""
    text = (ROOT / "labextension/package-lock.json").read_text()

    hosts = [(path, url) for path, url in urls_in(json.loads(text)) if "funding" not in path]

    assert '"resolved"' not in text
    assert '"integrity"' in text
    assert hosts == []


def test_every_direct_dependency_is_constrained_and_no_host_is_named() -> None:
    """No release of others turns the tests red: one version of each, for each Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    mine, uv = project["project"], project["tool"]["uv"]
    built = project["build-system"]["requires"]
    extras = [*mine["optional-dependencies"].values(), *project["dependency-groups"].values()]
    direct = {name_of(text) for texts in (mine["dependencies"], *extras) for text in texts}

    constrained = uv["constraint-dependencies"]
    constrained_builds = uv["build-constraint-dependencies"]

    assert direct - {name_of(text) for text in constrained} == {mine["name"], *uv["sources"]}
    assert {name_of(text) for text in constrained_builds} == {name_of(text) for text in built}
    bound = [*constrained, *constrained_builds]
    assert [text for text in bound if not CONSTRAINT.fullmatch(text)] == []


@pytest.mark.parametrize(
    "path",
    [
        "uv.lock",
        ".venv/pyvenv.cfg",
        "jupyter_serprof/labextension/package.json",
        *(f"jupyter_serprof/static/{name}" for name in BUNDLES),
        "labextension/lib/mount.js",
        "labextension/node_modules/.package-lock.json",
        "labextension/tsconfig.tsbuildinfo",
    ],
)
def test_built_files_stay_out_of_git(git: str, path: str) -> None:
    """A commit holds sources only; whatever was built is made again in seconds."""
    assert run(git, "check-ignore", "--quiet", "--no-index", path).returncode == 0
    assert run(git, "ls-files", "--", path).stdout == ""


def test_labextension_is_registered_in_this_environment() -> None:
    """JupyterLab started from this environment finds the renderer without another command."""
    folder = Path(sys.prefix, LABEXTENSION)

    installed = json.loads((folder / "package.json").read_text())
    entrance = folder / installed["jupyterlab"]["_build"]["load"]

    assert installed["name"] == "jupyter-serprof"
    assert installed["jupyterlab"]["_build"]["mimeExtension"] == "./mimeExtension"
    assert installed["jupyterlab"]["_build"]["extension"] == "./extension"
    assert entrance.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_stays_small(kind: str) -> None:
    """A widget (script and style) or a page costs at most 40 KiB as it is sent."""
    static = ROOT / "jupyter_serprof/static"

    widget = (static / f"{kind}.js").read_bytes() + (static / f"{kind}.css").read_bytes()
    page = (static / f"{kind}.html").read_bytes()

    assert 1000 < len(gzip.compress(widget)) <= MOST_BUNDLE_BYTES
    assert 1000 < len(gzip.compress(page)) <= MOST_BUNDLE_BYTES


def test_jupyterlab_loads_little_for_a_document() -> None:
    """What draws every document, with what two views need besides, is as small as a bundle."""
    static = ROOT / "jupyter_serprof/labextension/static"
    scripts = {path.name.split(".")[0]: path.read_text("utf-8") for path in static.glob("*.js")}
    costs = {key: len(gzip.compress(text.encode())) for key, text in scripts.items()}
    entrance = re.search(r'"\./mimeExtension":.*?\.then', scripts["remoteEntry"])
    assert entrance is not None

    first = re.findall(r"\.e\((\d+)\)", entrance[0])
    shared = "".join(map(scripts.__getitem__, first))
    later = re.findall(r"\.e\((\d+)\)[^;]{0,40}?\.(comparisonOf|anatomyOf|SWEEPS)\b", shared)
    cost = {view: costs[key] for key, view in later}

    # Lanes and glossary are loaded where somebody asks for them.
    assert len({*re.findall(r"\.e\((\d+)\)", shared)}) == len(cost) + 2
    for kind in ("anatomyOf", "SWEEPS"):
        needed = cost[kind] + cost["comparisonOf"] + sum(map(costs.__getitem__, first))
        assert needed <= MOST_BUNDLE_BYTES, kind


def test_versions_agree() -> None:
    """Python, the installed metadata and the front end are one release."""
    assert metadata.version("jupyter_serprof") == jupyter_serprof.__version__
    assert package_json()["version"] == jupyter_serprof.__version__


def test_labextension_paths_name_the_front_end() -> None:
    """`jupyter-builder develop` links the folder that the build writes to."""
    (paths,) = jupyter_serprof._jupyter_labextension_paths()

    built = ROOT / "labextension" / "../jupyter_serprof" / paths["src"]

    assert paths["dest"] == package_json()["name"]
    assert built.resolve() == ROOT / "jupyter_serprof/labextension"
