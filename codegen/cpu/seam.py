"""The typed seam around llvmlite: the rest of codegen/cpu takes `ir` and `binding` from here, as values of type Any."""

from __future__ import annotations

from importlib import import_module
from typing import Any

ir: Any = import_module("llvmlite.ir")
binding: Any = import_module("llvmlite.binding")
