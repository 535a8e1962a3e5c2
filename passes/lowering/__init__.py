"""How `lower-groups` turns one group into one kernel function: a file per loop nest over the common `nest.py`."""
