"""Kernel texts become x86-64 machine code: a vocabulary of SIMD values for Numba, LLVM, and one object file per
kernel.
"""
