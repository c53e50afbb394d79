"""What an anatomy says: names people know, who is to blame, and what is done with bad objects."""

import gc
import pickle
import socket
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any, NoReturn

import cloudpickle
import numpy as np
import pytest
from anatomy_samples import Estimator, Model, Slow, frame, function, give_clock

from jupyter_serprof.analysis.anatomy import blame_sentence, culprit
from jupyter_serprof.api import blame, record, resume
from jupyter_serprof.experiments.blame.passes import depth_note
from jupyter_serprof.experiments.blame.recording import Blame, unwrapped
from jupyter_serprof.model import Anatomy, Part, UsageError
from jupyter_serprof.model.anatomy import anatomy_document


def part_of(anatomy: Anatomy, path: str) -> Part:
    found = {part.path: part for part in anatomy.parts}
    assert path in found, list(found)
    return found[path]


def unpicklable(anatomy: Anatomy) -> dict[str, str]:
    return {part.path: part.note for part in anatomy.parts if part.state == "unpicklable"}


# Who is to blame


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            {f"k{i}": np.zeros(10_000) for i in range(8)},
            "8 ndarray float64 `(10000,)` at `x[*]` are 100 % of 640 kB, 80.0 kB each",
        ),
        (
            Model(layers=[Model(w=np.zeros(10_000), b=np.zeros(10)) for _ in range(12)], name="m"),
            "12 ndarray float64 `(10000,)` at `x.layers[*].w` are 99.9 % of 962 kB, 80.0 kB each",
        ),
        (
            {i: {j: np.zeros(5_000) for j in "abc"} for i in range(6)},
            "18 ndarray float64 `(5000,)` at `x[*][*]` are 100 % of 720 kB, 40.0 kB each",
        ),
        (
            {"a": np.zeros(10_000), "b": np.zeros(7_000), "c": "small"},
            '2 ndarray float64 at `x["a"] and x["b"]` are 100 % of 136 kB, about 68.1 kB each',
        ),
        ([{"a": i} for i in range(5_000)], "5,000 dict at `x[0..4,999]` are 99.9 % of"),
        (
            {f"k{i}": np.zeros(10 if i else 10_000) for i in range(8)},
            '`x["k0"]` is 99 % of 80.8 kB, ndarray float64 `(10000,)`',
        ),
        (
            {"a": np.zeros(10_000), "b": np.zeros(10_000, "i4"), "c": "t" * 50_000},
            'no part has most, the largest is `x["a"]`, 47 %',
        ),
    ],
    ids=["dict", "layers", "nested", "two", "run", "one", "nobody"],
)
def test_siblings_that_are_equally_to_blame_are_told_together(value: object, said: str) -> None:
    """What a user would call the culprit, not one of twelve equal layers."""
    assert said in blame_sentence(blame(value, "x"))


def test_an_object_that_is_held_several_times_is_no_group() -> None:
    """Its bytes are written once, so it stands alone, and the share never exceeds the whole."""
    shared = np.zeros(10_000)

    anatomy = blame({"a": shared, "b": shared, "c": [shared]}, "x")

    found = culprit(anatomy)
    assert found is not None
    assert (found.path, found.count, found.bytes) == ('x["a"]', 1, part_of(anatomy, 'x["a"]').bytes)


def test_a_group_has_exactly_the_bytes_of_its_parts() -> None:
    """Small siblings are not meant, and nothing is counted twice."""
    value = {f"k{i}": np.zeros(10_000 + i if i < 5 else 20) for i in range(9)}

    found = culprit(blame(value, "x"))

    assert found is not None
    assert [part.label for part in found.parts] == [f'["k{i}"]' for i in range(5)]
    assert found.bytes == sum(part.bytes for part in found.parts)
    assert found.count == 5


# Names


def test_attributes_items_and_keys_have_the_names_that_one_would_type() -> None:
    """The path of a weight is what gives it in Python, and it is found as the culprit."""
    layers = [Model(w=np.zeros(10 + 9990 * (i == 3))) for i in range(5)]
    model = Model(layers=layers, table={"key": ["text" * 300]})

    anatomy = blame(model, "model")

    assert part_of(anatomy, "model.layers[3].w").out_of_band_bytes == 80_000
    assert part_of(anatomy, 'model.table["key"]').bytes > 1_200
    found = culprit(anatomy)
    assert found is not None
    assert found.path == "model.layers[3].w"
    assert blame_sentence(anatomy).startswith("`model.layers[3].w` is 98 % of 81.8 kB, ndarray")


def test_keys_that_look_like_data_have_numbers() -> None:
    """A document is shared: long keys, and many keys of text beside each other, stay at home."""
    diagnosis = "the diagnosis of somebody in full words"
    rows = {f"patient {at}": np.zeros(2_000) for at in range(21)}

    anatomy = blame({diagnosis: np.zeros(2_000), "fields": {"age": np.zeros(2_000)}, "rows": rows})

    said = str(anatomy_document(anatomy))
    assert diagnosis[:20] not in said
    assert "patient" not in said
    assert {'["age"]', "[key 1]", "[key 21]"} <= {part.label for part in anatomy.parts}


def test_a_function_tells_what_it_captures_by_name() -> None:
    """Closures, globals and defaults, also those of a function that it calls."""
    step = function()

    anatomy = blame(step)

    assert part_of(anatomy, "step<closure buf>").bytes > 3_600
    assert part_of(anatomy, "step<closure helper><global TABLE>").bytes > 5_000
    assert part_of(anatomy, "step<global BUFFER>").out_of_band_bytes == 20_000
    assert part_of(anatomy, "step<default x>").out_of_band_bytes == 400


def test_an_array_deep_among_hundreds_of_parts_is_found() -> None:
    """What stayed closed and travels out-of-band is opened, too, as in an actor class of Ray."""

    def deep(inner: object) -> object:
        return {"a": {"b": {"c": {"d": {"e": {"f": inner}}}}}}

    value = {at: deep(["text" * 300]) for at in range(30)} | {"last": deep(np.zeros(100_000))}

    anatomy = blame(value, "x")

    assert blame_sentence(anatomy).startswith('`x["last"]["a"]["b"]["c"]["d"]["e"]["f"]` is ')


def test_a_frame_is_told_by_its_columns() -> None:
    """Not by the managers and blocks that pandas keeps them in."""
    table = frame()

    anatomy = blame(table, "df")

    paths = {part.path: part for part in anatomy.parts}
    assert {'df["number", "more"]', 'df["text"]', 'df["any"]', 'df["kind"]'} <= set(paths)
    assert "df.columns" in paths
    assert not any("_mgr" in path or "argument" in path for path in paths)
    assert paths['df["number", "more"]'].out_of_band_bytes == 4_800
    assert "300 tuple" in blame_sentence(blame(table["any"], "column"))


def test_an_estimator_is_told_by_its_fitted_attributes() -> None:
    """What ``__getstate__`` gives is what is shown."""
    estimator = Estimator().fit()

    anatomy = blame(estimator, "estimator")

    assert part_of(anatomy, "estimator.coef_").out_of_band_bytes == 2_400
    assert part_of(anatomy, "estimator.trees_[0..49]").count == 50


def test_many_equal_items_are_one_part() -> None:
    """A list of thousands is told in one line, with its count and the type of its items."""
    rows = [{"a": i} for i in range(5_000)]

    anatomy = blame(rows, "rows")

    assert [part.path for part in anatomy.parts] == ["rows", "rows[0..4,999]"]
    assert (anatomy.parts[1].count, anatomy.parts[1].kind) == (5_000, "dict")


def test_one_fat_item_among_thousands_is_found() -> None:
    """It stands for itself, between those that are as usual."""
    rows: list[Any] = [(i,) for i in range(20_000)]
    rows[7_777] = list(range(20_000))

    anatomy = blame(rows, "rows")

    assert part_of(anatomy, "rows[7777]").in_band_bytes > 50_000
    assert part_of(anatomy, "rows[0..7,776]").count == 7_777


def test_what_is_shared_is_charged_once_and_says_where() -> None:
    """Where it is met first it has its bytes; later it is a reference of a few."""
    one = [f"text {i}" for i in range(100)]

    anatomy = blame({"a": {"deep": one}, "b": one}, "x")

    assert part_of(anatomy, 'x["a"]["deep"]').bytes > 800
    again = part_of(anatomy, 'x["b"]')
    assert (again.state, again.bytes) == ("shared", 2)
    assert again.note == 'the same object as x["a"]["deep"]'


def test_the_base_of_a_view_stays_behind() -> None:
    """NumPy pickles what a view shows; a strided one is copied into the pickle."""
    base = np.zeros(100_000)

    anatomy = blame({"view": base[:128], "strided": base[::2]}, "x")

    view, strided = part_of(anatomy, 'x["view"]'), part_of(anatomy, 'x["strided"]')
    assert view.out_of_band_bytes == 1_024
    assert strided.in_band_bytes > 400_000


def test_a_slice_of_arrow_data_says_that_its_base_travels() -> None:
    """Ten numbers of a million: a copy of them would be small."""
    pa = pytest.importorskip("pyarrow")

    anatomy = blame({"slice": pa.array(np.zeros(1_000_000))[:10]}, "x")

    assert part_of(anatomy, 'x["slice"]').note == "drags its base along: 8.00 MB for 80 B"


def test_a_chain_of_equal_steps_is_one_part() -> None:
    """Two hundred lists in each other do not make two hundred lines."""
    chain: list[Any] = [1]
    for _ in range(50):
        chain = [chain]

    anatomy = blame(chain, "x")

    assert [part.label for part in anatomy.parts] == ["x", "[0][0]… x 50"]


def test_remote_functions_and_actor_classes_are_opened_as_ray_pickles_them() -> None:
    """What is decorated is not the wrapper, but the function or class inside."""
    remote = type("RemoteFunction", (), {"__module__": "ray.remote_function"})()
    remote._function = len
    kind = type("ActorClass", (), {"__module__": "ray.actor"})
    actor = type("ActorClass(Mine)", (kind,), {})()
    actor.__ray_metadata__ = types.SimpleNamespace(modified_class=dict)

    found = [unwrapped(remote), unwrapped(actor), unwrapped(5)]

    assert found == [len, dict, 5]


# Bad input


class Raises:
    """An object whose reducer raises."""

    def __reduce__(self) -> NoReturn:
        message = "no pickle of /home/somebody/secret.txt"
        raise ValueError(message)


class Exits:
    """An object that ends the program whatever it is asked for."""

    def __getattr__(self, name: str) -> NoReturn:
        raise SystemExit(name)


def test_what_a_property_raises_ends_its_anatomy_and_not_the_program() -> None:
    """The user's own call succeeded: it is the look after it that is refused."""
    with record("exits", blame=True) as recording:
        data = pickle.dumps(Exits())

    assert type(pickle.loads(data)) is Exits
    assert recording.trace.outcome == "ok"


class Nonsense:
    """An object whose reducer returns nonsense."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __reduce__(self) -> Any:
        return self.answer


class Forever:
    """An object whose state holds another one, for ever."""

    def __getstate__(self) -> dict[str, object]:
        return {"next": Forever()}


class Recurses:
    """An object whose reducer calls itself."""

    def __reduce__(self) -> Any:
        return self.__reduce__()


class Unequal:
    """An object that cannot be compared, hashed or asked for its truth."""

    __hash__ = None  # type: ignore[assignment]  # on purpose

    def __eq__(self, other: object) -> bool:
        raise ValueError

    def __bool__(self) -> bool:
        raise ValueError


class Growing:
    """An object that is larger each time it is asked."""

    size = 0

    def __reduce__(self) -> Any:
        Growing.size += 1_000
        return bytes, (b"x" * Growing.size,)


def letters() -> Iterator[str]:
    yield "a"


def test_every_part_that_cannot_be_pickled_is_named_in_one_call() -> None:
    """Two locks, a generator and a socket, wherever they are: all paths, each with its reason."""
    with socket.socket() as open_socket:
        job = {
            "model": Model(lock=threading.Lock(), name="ok"),
            "rows": [{"i": i} for i in range(500)] + [open_socket] + [{"i": 1}] * 500,
            "letters": letters(),
            "locks": (1, [threading.Lock()]),
        }

        anatomy = blame(job, "job")

    found = unpicklable(anatomy)
    assert set(found) == {
        'job["model"].lock',
        'job["rows"][500]',
        'job["letters"]',
        'job["locks"][1][0]',
    }
    assert found['job["letters"]'] == "TypeError: cannot pickle 'generator' object"
    assert anatomy.plain_bytes is None
    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes
    assert blame_sentence(anatomy).endswith("cannot be pickled, and 3 more")


def test_thousands_that_cannot_be_pickled_are_told_together() -> None:
    """A long list of locks is one part, not thousands; what holds one each is opened some times."""
    locks = [threading.Lock() for _ in range(3_000)]
    holders = [Model(lock=threading.Lock()) for _ in range(4_000)]

    bare, held = blame(locks, "x"), blame(holders, "x")

    [part] = [part for part in bare.parts if part.state == "unpicklable"]
    assert (part.path, part.count) == ("x[0..2,999]", 3_000)
    assert blame_sentence(bare) == "`x[0..2,999]` cannot be pickled, 3,000 lock"
    found = unpicklable(held)
    assert found["x[0].lock"] == "TypeError: cannot pickle '_thread.lock' object"
    assert found["x[200].lock"] == found["x[0].lock"]
    assert len(held.parts) < 2_000
    assert any(note.startswith("something in it: TypeError") for note in found.values())


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (Raises(), "ValueError: no pickle of secret.txt"),
        (Nonsense(5), "PicklingError: __reduce__ of Nonsense must return a string or tuple"),
        (Nonsense((len,)), "PicklingError: the tuple that __reduce__ of Nonsense returned has 1"),
        (Nonsense((5, ())), "PicklingError: the first element of __reduce__ of Nonsense must be"),
        (Nonsense((len, [])), "PicklingError: the second element of __reduce__ of Nonsense"),
        (Nonsense((len, (), None, 5)), "PicklingError: the fourth and fifth element"),
        (Nonsense("no such name"), "PicklingError: Can't pickle"),
        (Recurses(), "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_a_bad_reducer_is_named_with_what_it_said(bad: object, said: str) -> None:
    """The rest is measured as ever; paths of files are private."""
    value = {"good": [1, 2, 3], "bad": [bad]}

    anatomy = blame(value, "x")

    [(path, note)] = unpicklable(anatomy).items()
    assert path == 'x["bad"][0]'
    assert note.startswith(said)
    assert part_of(anatomy, 'x["good"]').bytes > 0


@pytest.mark.parametrize("value", [Forever(), [[Forever()]]])
def test_a_state_without_end_ends(value: object) -> None:
    """Pickle gives up at its recursion limit, and so does the anatomy."""
    limit = sys.getrecursionlimit()

    anatomy = blame(value, "x")

    assert unpicklable(anatomy)
    assert sys.getrecursionlimit() == limit


def test_ten_thousand_levels_are_counted() -> None:
    """The path does not repeat a step ten thousand times; the remedy is said."""
    chain: list[Any] = [1]
    for _ in range(10_000):
        chain = [chain]

    anatomy = blame(chain, "x")

    [(path, note)] = unpicklable(anatomy).items()
    assert len(path) < 40
    assert note.startswith("nested too deeply for pickle: 9,9")
    assert note.endswith("levels more. Flatten it")


def test_objects_that_cannot_be_compared_are_no_matter() -> None:
    """Only identity is asked for: no ``==``, no hash, no truth of the user's objects."""
    value = [Unequal(), {"a": Unequal()}, np.arange(5), [Unequal()] * 100]

    anatomy = blame(value, "x")

    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes
    assert unpicklable(anatomy) == {}


def test_a_class_of_the_notebook_has_one_size() -> None:
    """Its first pickle leaves ``__slotnames__`` in the class: no size that changes for ever."""

    class Layer:
        def __init__(self) -> None:
            self.w = [1.5] * 500

    class Net:
        def __init__(self) -> None:
            self.layers = [Layer(), Layer()]

    net = Net()

    anatomy = blame(net, "net")

    [note] = anatomy.notes
    assert note.startswith("times: ")
    assert anatomy.plain_bytes == len(cloudpickle.dumps(net, protocol=5))
    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes


def test_a_reducer_that_changes_its_answer_is_said() -> None:
    """The sum is that of the parts, and a note says why it is not that of another pickle."""
    value = [Growing(), [Growing()]]

    anatomy = blame(value, "x")

    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes
    assert any("changes from pickle to pickle" in note for note in anatomy.notes)


def test_the_budget_ends_the_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not opened says so, and the sum is still that of the pickle."""
    clock = [0.0]
    give_clock(monkeypatch, clock)
    value = {"fast": list(range(100)), "slow": [Slow(clock, 10.0) for _ in range(4)]}

    anatomy = Blame(value, "x", budget_s=55.0).run()

    assert not anatomy.is_complete
    assert any(part.state == "not opened" for part in anatomy.parts)
    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes
    assert any("budget" in note for note in anatomy.notes)


class Interrupts:
    """An object that is interrupted when it is reduced for the n-th time."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __reduce__(self) -> Any:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return Model, ()


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_interrupt_passes_and_what_is_known_stays(after: int) -> None:
    """In the first pickle, while opening, in a later pass: the document is valid each time."""
    with pytest.raises(KeyboardInterrupt):
        blame([list(range(500)), Interrupts(after), [1]], "x")

    anatomy: Any = resume()
    assert not anatomy.is_complete
    assert any("interrupted" in note for note in anatomy.notes)
    assert sum(part.self_bytes for part in anatomy.parts) == anatomy.in_band_bytes
    assert gc.isenabled()


@pytest.mark.parametrize(
    "options", [{"budget_s": 0}, {"budget_s": float("nan")}, {"budget_s": "1"}]
)
def test_a_wrong_option_is_told_with_a_remedy(options: dict[str, Any]) -> None:
    value = Raises()

    with pytest.raises(UsageError, match=str(next(iter(options.values())))):
        blame(value, **options)


def test_the_collector_and_the_object_are_as_before() -> None:
    """The garbage collector goes on, and nothing holds the object any longer."""
    value = Model(items=[Model(i=i) for i in range(100)])
    gc.collect()
    before = sys.getrefcount(value)

    blame(value)
    gc.collect()

    assert gc.isenabled()
    assert sys.getrefcount(value) == before


def test_a_circle_is_not_called_deep() -> None:
    circle: list[object] = []
    circle += [circle, threading.Lock()]

    (root, *_) = blame(circle, "x").parts

    assert "nested" not in root.note
    assert depth_note(circle) == ""


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *(("[a] * 3", "([a] * 3)[0]"), ("a", "a[0]"), ("job.rows", "job.rows[0]")),
        ("no code", "no code[0]"),
    ],
)
def test_what_stands_behind_an_expression_belongs_to_all_of_it(name: str, part: str) -> None:
    assert blame([b"x" * 10_000], name).parts[1].path == part
