"""The pages: each finding has one, none lacks its finding; what is to be typed is right."""

import ast
import inspect
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jupyter_serprof as sp
from jupyter_serprof.cli import understood
from jupyter_serprof.magics.options import SYNTAXES, parse
from jupyter_serprof.magics.together import check
from jupyter_serprof.views.kit.pages import finding_page

ROOT = Path(__file__).resolve().parents[1]
#: Written by hand; the others are made from the code, or by a command that stands in them.
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "notebooks/README.md")),
    *sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs/causes.md", ROOT / "docs/faults.md"}),
]
_FENCE = re.compile(r"(?ms)^```(?P<language>\S*)[^\n]*\n(?P<text>.*?)^```$")
_TYPED = re.compile(r"(?m)^\| `(?P<line>%[^`]+)`")
#: What is no code to run: output, and changes that are shown as such.
SHOWN = {"text", "diff", "toml", "{include}", "{toctree}"}
PROGRAMS = {"pip", "uv", "python3", "~/.uv/bin/pip", "~/.uv/bin/uv", "bash", "serprof"}
#: They would take minutes or clusters; the call is held against the signature.
SLOW = {
    *("chunk_sweep", "compare", "graphstages", "load", "resume", "roundtrip", "save", "sweep"),
    "try_remedies",
}
_PATH = re.compile(r"(tests|docs|notebooks|labextension|\.ci)(/[\w./-]+)?")


def blocks(path: Path) -> Iterator[tuple[str, str]]:
    text = path.read_text("utf-8")
    yield from ((found["language"], found["text"]) for found in _FENCE.finditer(text))
    yield from (("ipython", found["line"].replace("\\|", "|")) for found in _TYPED.finditer(text))


def of(*languages: str) -> list[Any]:
    return [
        pytest.param(text, id=f"{path.parent.name}/{path.name}-{at}")
        for path in PAGES
        for at, (language, text) in enumerate(blocks(path))
        if language in languages
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
    pictures = {path.name.partition("@")[0] for path in (ROOT / "docs/documents").iterdir()}

    assert told.keys() == keys
    assert [key for key in keys if key.partition(".")[2] not in code] == []
    assert causes | pictures | findings.written(ROOT).keys() <= keys
    assert {key: title for key, title in told.items() if not title or title == key} == {}
    monkeypatch.setenv("SERPROF_DOCS", ".")
    assert {key.partition(".")[0] for key in keys if not finding_page(key)} <= {"plugin"}


def test_every_block_says_whether_it_is_typed_or_shown() -> None:
    """A language for each, and no block by indentation, which has none."""
    known = {*SHOWN, "python", "ipython", "sh"}

    strange = {(p.name, kind) for p in PAGES for kind, _ in blocks(p) if kind not in known}
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
def test_lines_of_the_pages_are_understood(text: str) -> None:
    """A magic with options that exist and go together; else Python."""
    rest = []
    for line in text.splitlines():
        magic, _, typed = line.lstrip("%").partition(" ")
        if not line.startswith("%"):
            rest.append(line)
        elif magic in SYNTAXES:
            check(parse(typed, SYNTAXES[magic]), SYNTAXES[magic])
        else:
            assert magic == "load_ext"

    ast.parse("\n".join(rest))


@pytest.mark.parametrize("text", of("sh"))
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
