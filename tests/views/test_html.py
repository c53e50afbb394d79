"""The self-contained page: complete, inert, and the same for every reader."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from jupyter_serprof.model import DocumentError, Trace, from_document, load, to_document
from jupyter_serprof.testing import make_trace
from jupyter_serprof.views.notebook import page
from jupyter_serprof.views.notebook.page import html

DATA = Path(__file__).parents[1] / "data"
EMBEDDED = re.compile(r'<script type="application/vnd[^>]*>(.*?)</script>', re.DOTALL)
BREAKOUT = "</script><script>alert(1)</script><!--"


def small() -> Trace:
    return make_trace([("pickle.dumps", "client/main", 0, 4, 800)])


@pytest.mark.parametrize("name", ["trace.v1", "sweep.v1", "trace.v1.packed"])
def test_the_whole_document_is_in_the_page(name: str) -> None:
    doc = load(DATA / f"{name}.serprof.json")

    assert [from_document(json.loads(text)) for text in EMBEDDED.findall(html(doc))] == [doc]


def test_the_policy_allows_one_script_and_no_request() -> None:
    """The hash in the policy is that of the script in the page; everything else is forbidden."""
    # No font, style, script or picture comes from elsewhere; names of XML formats are no requests.
    written = html(small())

    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', written)
    script = re.findall(r"<script>(.*?)</script>", written, re.DOTALL)

    (only,) = script
    digest = base64.b64encode(hashlib.sha256(only.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//[^"')\s]+""", written)


def test_no_text_ends_the_element_that_it_stands_in() -> None:
    doc = replace(small(), name=BREAKOUT, producer=BREAKOUT)

    written = html(doc)

    assert BREAKOUT not in written
    assert len(re.findall(r"<script", written)) == 2
    assert [json.loads(text) for text in EMBEDDED.findall(written)] == [to_document(doc)]


@pytest.mark.parametrize("name", ["@@document@@", "@@title@@", "\\1 \\g<0> $&", "\ud800", "\u2028"])
def test_a_name_is_never_taken_for_a_place_to_fill(name: str) -> None:
    """Neither the template's own marks nor signs of replacement mean anything in a name."""
    doc = replace(small(), name=name)

    written = html(doc)

    written.encode("utf-8")
    assert json.loads(EMBEDDED.findall(written)[0])["name"] == name


def test_a_reader_without_scripts_gets_text_and_picture() -> None:
    """Both stand in the page as plain HTML, with an alternative text."""
    written = html(small())

    assert re.search(r'<img src="data:image/png;base64,[A-Za-z0-9+/=]+" alt="[^"]+">', written)
    assert "<pre>" in written
    assert "<svg" not in re.sub(r"<script>.*?</script>", "", written, flags=re.DOTALL)


def test_a_picture_that_cannot_be_drawn_leaves_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "png", Mock(side_effect=OSError("no fonts")))

    written = html(small())

    assert "<img" not in written.split("</main>", maxsplit=1)[0].split("<main>")[1]
    assert "<pre>" in written


def test_a_source_tree_without_its_front_end_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page, "kind_of", lambda _: "missing")

    with pytest.raises(DocumentError, match="uv sync"):
        html(small())
