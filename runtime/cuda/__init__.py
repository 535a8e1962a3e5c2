"""NVIDIA GPUs through the CUDA driver. Enters and leaves: what `Driver` (runtime/driver.py) says."""
