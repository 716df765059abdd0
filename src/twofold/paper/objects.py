"""Methods and data sets of a user, by their import paths."""

import hashlib
import importlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from twofold.paper.methods import Method, all_methods


def by_import_path(option: str, path: str, known: Iterable[str]) -> Any:
    """Import the object ``module:object``, also from the working folder."""
    module, colon, name = path.partition(":")
    if not (colon and module and name):
        raise ValueError(
            f"{option} must be one of {', '.join(known)}, or an import path "
            f"module:object, got {path!r}"
        )
    # At the end, so that no file of the working folder hides an installed module.
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as failure:  # a user's module may raise any error
        reason = f"{type(failure).__name__}: {' '.join(str(failure).split())}"
        raise ValueError(f"{option} {path} cannot be imported: {reason}") from failure


def find_method(name: str) -> Method:
    """Return a method by its name in ``all_methods`` or its path, module:object."""
    methods = all_methods()
    if name in methods:
        return methods[name]
    imported = by_import_path("--method", name, methods)
    if not isinstance(imported, Method):
        raise ValueError(
            f"--method {name} must be a twofold.methods.Method, got "
            f"{type(imported).__name__}"
        )
    return imported


def source_digest(name: str) -> str:
    """Return the digest of the source file of a user's method.

    The digest is empty for ``all_methods``, which change with the version of twofold.
    """
    if name in all_methods():
        return ""
    find_method(name)  # imports the module
    file = sys.modules[name.partition(":")[0]].__file__
    source = Path(file).read_bytes() if file else b""
    return hashlib.sha256(source).hexdigest()[:16]
