"""Devices and buffers, as users import them. Enters and leaves: nothing; the things themselves live in `runtime/`."""

from __future__ import annotations

from pelton.runtime.buffer import Buffer
from pelton.runtime.device import CPU, Accelerator, Device, accelerator_api, accelerator_count

__all__ = ["CPU", "Accelerator", "Buffer", "Device", "accelerator_api", "accelerator_count"]
