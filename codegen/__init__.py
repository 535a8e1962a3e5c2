"""Code generation: kernel functions become readable Python text (source printers), and that text becomes machine code."""
