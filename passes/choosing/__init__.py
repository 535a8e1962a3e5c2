"""What `choose-kernels` does to ops that it finds a kernel for, a file per kind of op."""
