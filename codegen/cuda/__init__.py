"""Kernel texts become PTX: a vocabulary of one thread's values for Numba, NVVM, and ptxas. Needs no GPU and no
driver.

kernel.func → printer.py (readable Numba CUDA source) → compile.py (PTX, then a cubin). words.py, numeric.py and
team.py hold what a text's names mean; vocabulary.py is the table.
"""
