"""What a compiled model needs to run: devices, buffers, object code, plans. Needs NumPy, and llvmlite to map code."""
