"""What a compiled model needs to run: devices, buffers, object code, plans. Imports NumPy, and llvmlite when code is mapped."""
