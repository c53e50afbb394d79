"""What travels to other processes: a package of ours as source and, for the same Python, as code.

The other end has neither this package nor a file of it: `LOADER` makes modules of what it is given.
"""

import hashlib
import marshal
import sys
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from importlib.util import MAGIC_NUMBER
from types import ModuleType

#: The loader, the name, the kind of bytecode, source and code of each module by its name.
Shipped = tuple[str, str, bytes, dict[str, tuple[str, bytes]]]
#: Makes the modules of a package from their sources, or of what this very Python made of them;
#: runs wherever it goes. A module that passes the package on has a list ``SHIPPED`` for it.
LOADER = """
import sys
from importlib.util import MAGIC_NUMBER
from marshal import loads
from types import ModuleType
_, name, magic, parts = shipped
if name not in sys.modules:
    modules = {part: ModuleType(name + ('.' + part if part else '')) for part in parts}
    try:
        for part in [*[part for part in parts if part], '']:
            module, (source, code) = modules[part], parts[part]
            module.__package__ = name
            if not part:
                module.__path__ = []
            sys.modules.setdefault(name, modules[''])
            sys.modules[module.__name__] = module
            is_ours = magic == MAGIC_NUMBER
            made = loads(code) if is_ours else compile(source, module.__name__, 'exec')
            exec(made, module.__dict__)
            if hasattr(module, 'SHIPPED'):
                module.SHIPPED[:] = name, shipped
    except BaseException:
        for module in modules.values():
            sys.modules.pop(module.__name__, None)
        raise
"""


def sources(package: str, parts: Sequence[str]) -> dict[str, str]:
    """Return the source of each module of a package by its name; the package itself is ''."""
    home = files(package)
    return {part: (home / f"{part or '__init__'}.py").read_text("utf-8") for part in parts}


@cache
def shipped(package: str, name: str, parts: Sequence[str]) -> Shipped:
    """Return what travels of a package.

    ``name``: How the package is called at the other end, before a sign of this version of it.
    ``parts``: Its modules, each after those that it imports; the package itself is ''.
    """
    made = sources(package, parts)
    digest = hashlib.sha256(repr(sorted(made.items())).encode()).hexdigest()
    name = f"{name}_{digest[:12]}"
    compiled = {
        part: (source, marshal.dumps(compile(source, f"{name}.{part}", "exec")))
        for part, source in made.items()
    }
    return LOADER, name, MAGIC_NUMBER, compiled


def loaded(package: Shipped) -> ModuleType:
    """Return a package of this process, under the name that it has everywhere."""
    loader, name, *_ = package
    if name not in sys.modules:
        exec(loader, {"shipped": package})  # noqa: S102  (our own source, as everywhere else)
    return sys.modules[name]
