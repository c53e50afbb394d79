"""The pages: each finding has one, none lacks its finding; what is to be typed is right."""

import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask.array as da
import numpy as np
import pytest
from shells import Ran, Shell

import jupyter_serprof as sp
from jupyter_serprof.cli import understood
from jupyter_serprof.views.kit.pages import finding_page

ROOT = Path(__file__).resolve().parents[1]
#: Written by hand; the others are made from the code, or by a command that stands in them.
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "notebooks/README.md")),
    *sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs/causes.md", ROOT / "docs/faults.md"}),
]
_FENCE = re.compile(
    r"(?ms)^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"```(?P<language>\S*)[^\n]*\n(?P<text>.*?)^```$"
)
_TYPED = re.compile(r"(?m)^\| `(?P<line>%[^`]+)`")
#: What is no code to run: output, and changes that are shown as such.
SHOWN = {"text", "diff", "toml", "{include}", "{toctree}"}
PROGRAMS = {"pip", "uv", "python3", "~/.uv/bin/pip", "~/.uv/bin/uv", "bash", "serprof"}
#: What stands in commands; smaller than what a user would take.
FILES = {
    "script.py": "import pickle\npickle.dumps(list(range(10**4)))\n",
    "package/module.py": "import pickle\n",
    "old.py": "import pickle\n",
    "new.py": "import pickle\n",
}
LESS = {"1e8:12": "1e4:2", "--repeat 15": "--repeat 3", "all a": "pickle,cloudpickle a"}
#: They would take minutes or clusters; the call is held against the signature.
SLOW = {
    *("chunk_sweep", "compare", "graphstages", "load", "resume", "roundtrip", "save", "sweep"),
    "try_remedies",
}
_PATH = re.compile(r"(tests|docs|notebooks|labextension|\.ci)(/[\w./-]+)?")


def blocks(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield language, text, and why it is not run, of each."""
    text = path.read_text("utf-8")
    yield from ((f["language"], f["text"], f["reason"] or "") for f in _FENCE.finditer(text))
    lines = (found["line"].replace("\\|", "|") for found in _TYPED.finditer(text))
    yield from (("ipython", line, "tests/clusters" * ("--objects" in line)) for line in lines)


def of(language: str, *, is_run: bool = True) -> list[Any]:
    return [
        pytest.param(text, id=f"{path.parent.name}/{path.name}-{at}")
        for path in PAGES
        for at, (kind, text, reason) in enumerate(blocks(path))
        if kind == language and not (is_run and reason)
    ]


def test_every_finding_has_a_page_and_no_page_lacks_its_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What goldens, the corpus, pictures and docs/why.toml name is what the code can say."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    findings: Any = import_module("pages.findings")

    keys = set(findings.keys(ROOT))
    found = findings.found(ROOT)
    told = {each.key: findings.title_of(each, ROOT) for each in found}
    sources = (p for end in ("*.py", "table.json") for p in (ROOT / "jupyter_serprof").rglob(end))
    code = "".join(path.read_text("utf-8") for path in sources)
    causes = set(re.findall(r"\| `(\S+)` \|", (ROOT / "docs/causes.md").read_text("utf-8")))
    pictures = [path.name.partition("@")[0] for path in (ROOT / "docs/documents").iterdir()]

    assert told.keys() == keys
    assert [key for key in keys if key.partition(".")[2] not in code] == []
    assert len(pictures) == len(set(pictures))
    assert causes | {*pictures} | findings.written(ROOT).keys() <= keys
    assert {key: title for key, title in told.items() if not title or title == key} == {}
    monkeypatch.setenv("SERPROF_DOCS", ".")
    assert {key.partition(".")[0] for key in keys if not finding_page(key)} <= {"plugin"}


def test_every_finding_has_its_picture_gain_and_source_or_why_it_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was recorded is told from what was made; a reason stands only where nothing was."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    findings: Any = import_module("pages.findings")
    monkeypatch.setattr("pages.pictures.block", lambda _: "PICTURE")
    wanted = {
        "picture": r"\nPICTURE\n(Measured on two cores\. \S|Artificial: .*\. \S)",
        "gain": r"## What it gains\n\n(\|.*\n\|---.*\n(.*\n)*?\|.* [\d.]+x[^|\n]* \||[^|\n]{40,})",
        "source": r"## Read on\n\n.*\n\n(- \[.+\]\((https://|\.\./).*\n)+$",
    }

    pages = {path: text for path, text in findings.pages(ROOT).items() if "." in path[:-3]}
    lacks = [
        (path, it)
        for path, text in pages.items()
        for it in wanted
        if not re.search(wanted[it], text)
    ]
    reasons = {key for key, known in findings.sources().items() if "gain" in known}

    assert lacks == []
    assert [key for key in reasons if "| times faster |" in pages[f"findings/{key}.md"]] == []


def test_every_block_says_whether_it_is_typed_or_shown() -> None:
    """A language for each, and no block by indentation, which has none."""
    known = {*SHOWN, "python", "ipython", "sh"}

    strange = {(p.name, kind) for p in PAGES for kind, *_ in blocks(p) if kind not in known}
    around = {path.name: _FENCE.sub("", path.read_text("utf-8")) for path in PAGES}
    bare = [name for name, text in around.items() if re.search(r"\n\n    [^ -]", text)]

    assert strange == set()
    assert bare == []


@pytest.mark.parametrize("text", of("python"))
def test_code_of_the_pages_runs(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Calls that take long are held against their signature."""
    monkeypatch.chdir(tmp_path)
    for name in SLOW:
        held = inspect.signature(getattr(sp, name)).bind
        monkeypatch.setattr(sp, name, lambda *a, held=held, **k: held(*a, **k) and None)
    plugin = vars(import_module("serprof_queue"))
    given = {"a": np.ones(3), "x": np.ones((2, 2)), "f": list, "g": list, "make": np.ones}

    exec(text, {**plugin, **given, "document": None, "__name__": "__main__"})  # noqa: S102


@pytest.mark.parametrize("text", of("ipython"))
def test_lines_of_the_pages_run(
    text: str, shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a shell with their names, small, by threads; without Ray, whose tests run theirs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("distributed.Client", lambda **_: None)
    x = da.ones((8, 8), chunks=4)
    ray = SimpleNamespace(get=lambda ref: ref, put=lambda value: value)
    before = sp.roundtrip([1], ["pickle"], repeat=1)
    shell.user_ns |= {"np": np, "ray": ray, "a": np.ones(9), "x": x, "y": x + 1, "f": list}
    shell.user_ns |= {"before": before, "make": lambda n: da.ones(9000, chunks=n)}
    for much, less in LESS.items():
        text = text.replace(much, less)

    ran = Ran(shell, f"{text}\nx" if text.startswith("%%") else text)

    assert (ran.result.success, "Error" in ran.err) == (True, False), ran.err


@pytest.mark.parametrize("text", of("sh", is_run=False))
def test_commands_of_the_pages_name_what_is_there(text: str) -> None:
    """Programs, groups, extras, files; our own command with options that it has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    commands = [part for line in text.splitlines() for part in line.split("&&")]

    for words in filter(None, (shlex.split(command, comments=True) for command in commands)):
        assert words[0] in PROGRAMS
        groups = [words[at + 1] for at, word in enumerate(words) if word == "--group"]
        assert set(groups) <= project["dependency-groups"].keys()
        if words[0] == "serprof":
            understood(words[1:])
        elif words[0] != "pip":
            named = [word for word in words if _PATH.fullmatch(word) and "/" in word]
            assert [word for word in named if not (ROOT / word).exists()] == []


@pytest.mark.parametrize("text", of("sh"))
def test_commands_of_the_pages_run(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of our own command, run twice; the others say in a comment why they are not."""
    monkeypatch.chdir(tmp_path)
    for name, program in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(program, "utf-8")

    for line in text.splitlines():
        program, *words = shlex.split(line)
        if words[-1] in FILES or "old.py" in words:
            words = ["--repeat", "1", *(w for w in words if w not in {"--repeat", "15"})]
        done = subprocess.run([sys.executable, "-m", "jupyter_serprof", *words], check=False)
        # Whether the machine took as long both times is not what is tested.
        assert (program, done.returncode <= ("--fail-above" in words)) == ("serprof", True)
