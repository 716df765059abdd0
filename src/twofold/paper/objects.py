"""What a user has made, found by its import path."""

import hashlib
import importlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from twofold.paper.methods import Method, all_methods


def by_import_path(option: str, path: str, known: Iterable[str]) -> Any:
    """The object that ``module:object`` names, the working folder being importable."""
    module, colon, name = path.partition(":")
    if not (colon and module and name):
        raise ValueError(
            f"{option} must be one of {', '.join(known)}, or an import path "
            f"module:object, got {path!r}"
        )
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as failure:
        reason = f"{type(failure).__name__}: {' '.join(str(failure).split())}"
        raise ValueError(f"{option} {path} cannot be imported: {reason}") from failure


def find_method(name: str) -> Method:
    """A method by its name in ``all_methods`` or by its import path, module:object."""
    known = all_methods()
    if name in known:
        return known[name]
    found = by_import_path("--method", name, known)
    if not isinstance(found, Method):
        raise ValueError(
            f"--method {name} must be a twofold.methods.Method, got "
            f"{type(found).__name__}"
        )
    return found


def source_digest(name: str) -> str:
    """Of the module that a user's method is in; empty for those of ``all_methods``.

    The latter change with the version of twofold.
    """
    if name in all_methods():
        return ""
    find_method(name)
    file = sys.modules[name.partition(":")[0]].__file__
    source = Path(file).read_bytes() if file else b""
    return hashlib.sha256(source).hexdigest()[:16]
