"""Contact by submission: whoever runs a task that was submitted here meets the agent before it.

A function or class that Ray has published is left as it is. Beside it stands a second entry, under
an id of its own, which says "bring the agent, then take the one of that other id"; submissions of
the recording name the second one. So a worker that knows the function keeps it with all its state,
and nothing is pickled or published twice. Both entries end with the job: Ray drops them.

Left alone are detached actors that are made, those of other programs and those that bound the calls
that wait for them, functions of other languages, and Ray Client.

Source: Ray 2.60.0, ray/remote_function.py:RemoteFunction._remote, ray/actor.py:ActorClass._remote,
ray/_private/function_manager.py: FunctionActorManager; the names are those of Ray 2.40 to 2.60.
"""

from __future__ import annotations

import json
import pickle
import sys
import threading
import time
import uuid
from collections.abc import Callable
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

#: Ray's table of functions: what a job has there is dropped with the job.
SPACE = b"fun"
#: Behind the key of a recording: stands there as long as notes are taken, also after its end.
OPEN = b":open"
#: What runs where a function, class or call arrives; ``call`` is (name of the agent, its start's
#: arguments), ``wanted`` says which function or class is meant. Ours fails, theirs runs.
_BOOT = """
def boot(key, call, wanted):
    import ray, sys, time
    worker, began = ray._private.worker.global_worker, time.perf_counter_ns()
    if worker.mode == ray.WORKER_MODE:
        try:
            if call[0] not in sys.modules:
                import marshal
                packed = worker.gcs_client.internal_kv_get(key, b'fun')
                if packed:
                    shipped = marshal.loads(packed)
                    exec(shipped[0], {'shipped': shipped})
            if call[0] in sys.modules:
                sys.modules[call[0]].start(key, *call[1:], began if wanted else 0)
        except Exception as error:
            try:
                at = key + b':failed:' + worker.worker_id
                worker.gcs_client.internal_kv_put(at, type(error).__name__.encode(), True, b'fun')
            except Exception:
                pass
    if wanted is None:
        return lambda actor: None
    manager, (descriptor, at) = worker.function_actor_manager, wanted
    ident = descriptor.function_id
    if at is None:
        known = manager._loaded_actor_classes.get(ident)
        return known or manager._load_actor_class_from_gcs(worker.current_job_id, descriptor)
    if not manager._function_execution_info.get(ident):
        manager.fetch_and_register_remote_function(at)
    function, agent = manager._function_execution_info[ident].function, sys.modules.get(call[0])
    return agent.stepped(function) if agent else function
"""
#: Living actors are waited for, as one of several threads may begin the call behind ours: each so
#: long at most, all of them so long, s. Who is busy for longer has the agent after that.
_WAIT_S, _WAITS_S = 0.1, 0.3
#: What takes longer is given up, s: a call of the user's waits for it.
RPC_S = 1.0


class _Boot:
    """Unpickles as what is wanted, the agent having come before it: no code of ours is imported."""

    def __init__(self, *given: Any) -> None:
        self.given = given

    def __reduce__(self) -> Any:
        made = "(exec(source, space), space['boot'](*given))[1]"
        return eval, (made, {"source": _BOOT, "space": {}, "given": self.given})


class Contact:
    """How the agent of one recording gets to whoever runs what this process submits.

    ``key``: Where its source is, as long as the recording lasts.
    ``call``: The name of the agent, and the arguments of its start.
    ``windows``: When we ourselves called Ray: (thread, start_ns, end_ns).
    ``may_wait``: Tells whether Ray may be waited for: without its raylet a wait ends the process.
    """

    def __init__(self, key: bytes, call: tuple[Any, ...]) -> None:
        self.key, self.call = key, call
        self.worker = import_module("ray._private.worker").global_worker
        self.home = self.worker.current_cluster_and_job
        self.windows: list[tuple[int, int, int]] = []
        self.may_wait: Callable[[], bool] = lambda: True
        self._functions: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
        self._classes: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
        self._actors: set[Any] = set()
        self._waited_s = 0.0
        self._here, self._lock = threading.local(), threading.Lock()

    def is_here(self) -> bool:
        """Tell whether this process is still in the job in which the contact began."""
        return bool(self.worker.connected) and self.worker.current_cluster_and_job == self.home

    # Functions.

    def meet_function(self, function: Any) -> None:
        """Meet who runs a remote function: now if it is published, else as soon as it is."""
        if function in self._functions or function._is_cross_language or not self.is_here():
            return
        if function._last_export_cluster_and_job != self.home:
            return
        at = self._at(b"RemoteFunction", function._function_descriptor)
        # Another thread may be about to publish it, under the id that it finds then.
        if self.worker.gcs_client.internal_kv_exists(at, SPACE, timeout=RPC_S):
            self.function_published(function)

    def function_published(self, function: Any) -> None:
        """Publish the second entry of a function beside its first one."""
        with self._lock:
            if function in self._functions or not self.is_here():
                return
            ours = time.perf_counter_ns()
            old = function._function_descriptor
            new, ident = self._second(old)
            info = {"function_name": function._function_name, "max_calls": function._max_calls}
            wanted = old, self._at(b"RemoteFunction", old)
            self._publish(
                self._at(b"RemoteFunction", new),
                {**info, "function_id": ident, "module": function._function.__module__},
                {"function": self._boot(wanted)},
            )
            self._functions[function] = old, new
            function._function_descriptor = new
            self._close(ours)

    # Actors.

    def meet_class(self, kind: Any, options: dict[str, Any]) -> None:
        """Meet who becomes an actor of a class; a detached one, which stays, is let alone."""
        meta = kind.__ray_metadata__
        if meta.is_cross_language or not self.is_here():
            return
        given = {**getattr(kind, "_default_options", {}), **options}
        if given.get("lifetime") == "detached":
            self._restore_class(meta)
        elif meta.last_export_cluster_and_job == self.home:
            self._class_published(meta)
        else:
            self._here.meta = meta

    def class_published(self) -> None:
        """Publish the second entry of the class that this thread has just published."""
        meta, self._here.meta = getattr(self._here, "meta", None), None
        if meta is not None and self.is_here():
            self._class_published(meta)

    def _class_published(self, meta: Any) -> None:
        with self._lock:
            if meta in self._classes:
                meta.actor_creation_function_descriptor = self._classes[meta][1]
                return
            ours = time.perf_counter_ns()
            old = meta.actor_creation_function_descriptor
            new, _ = self._second(old)
            names = [name for name in dir(meta.modified_class) if not name.startswith("__")]
            self._publish(
                self._at(b"ActorClass", new),
                {"class_name": old.class_name.split(".")[-1], "module": old.module_name},
                {
                    "class": self._boot((old, None)),
                    "actor_method_names": json.dumps(["__init__", *names]),
                },
            )
            self._classes[meta] = old, new
            meta.actor_creation_function_descriptor = new
            self._close(ours)

    def _restore_class(self, meta: Any) -> None:
        old, new = self._classes.get(meta, (None, None))
        if new is not None and meta.actor_creation_function_descriptor is new:
            meta.actor_creation_function_descriptor = old

    def actor_made(self, handle: Any) -> None:
        """Note an actor that has the agent from its beginning."""
        self._actors.add(handle._ray_actor_id)

    def meet_actor(self, method: Any) -> None:
        """Meet an actor that lives already by a call before the first one of the recording."""
        handle = _handle_of(method)
        ident = handle._ray_actor_id
        if ident in self._actors or method._method_name.startswith("__ray"):
            return
        self._actors.add(ident)
        if self.is_here() and not handle._ray_is_cross_language and self._may_call(handle):
            ours = time.perf_counter_ns()
            self._call(handle)
            self._close(ours)

    def _may_call(self, handle: Any) -> bool:
        known = import_module("ray.core.generated.core_worker_pb2").ActorHandle.FromString(
            self.worker.core_worker.serialize_actor_handle(handle._ray_actor_id)[0]
        )
        is_ours = known.creation_job_id == self.worker.current_job_id.binary()
        return bool(is_ours and known.max_pending_calls <= 0)

    def _call(self, handle: Any) -> None:
        ray, call = sys.modules["ray"], handle.__ray_call__
        run = getattr(type(call)._remote, "original", type(call)._remote)
        wait = getattr(ray.wait, "original", ray.wait)
        ours = {"args": (_Boot(self.key, self.call, None),), "kwargs": {}}
        reference = run(call, **ours, enable_task_events=False)
        left_s, is_async = (
            _WAITS_S - self._waited_s,
            self.worker.core_worker.current_actor_is_asyncio,
        )
        if left_s > 0 and not is_async() and self.may_wait():
            start = time.monotonic()
            wait([reference], timeout=min(_WAIT_S, left_s), fetch_local=False)
            self._waited_s += time.monotonic() - start

    # Entries.

    def _second(self, old: Any) -> tuple[Any, bytes]:
        new = type(old)(old.module_name, old.function_name, old.class_name, uuid.uuid4().hex)
        return new, new.function_id.binary()

    def _at(self, table: bytes, descriptor: Any) -> bytes:
        job = self.worker.current_job_id.hex().encode()
        return b":".join((table, job, descriptor.function_id.binary()))

    def _boot(self, wanted: Any) -> bytes:
        return pickle.dumps(_Boot(self.key, self.call, wanted), 4)

    def _publish(self, at: bytes, info: dict[str, Any], more: dict[str, Any]) -> None:
        job = {"job_id": self.worker.current_job_id.binary(), "collision_identifier": b""}
        packed = pickle.dumps({**job, **info, **more}, 4)
        self.worker.gcs_client.internal_kv_put(at, packed, True, SPACE, timeout=RPC_S)

    def _close(self, start: int) -> None:
        if len(self.windows) < 10_000:  # noqa: PLR2004  (of functions and actors, not of calls)
            self.windows.append((threading.get_ident(), start, time.perf_counter_ns()))

    def leave(self) -> None:
        """Give all functions and classes their own ids back."""
        with self._lock:
            for function, (old, new) in list(self._functions.items()):
                if function._function_descriptor is new:
                    function._function_descriptor = old
            for meta in list(self._classes):
                self._restore_class(meta)
            self._functions.clear()
            self._classes.clear()


def _handle_of(method: Any) -> Any:
    """Return the actor of a method; before Ray 2.54 a method may hold it weakly."""
    for name in ("_actor", "_actor_hard_ref"):
        if (handle := getattr(method, name, None)) is not None:
            return handle
    return method._actor_ref()
