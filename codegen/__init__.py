"""Code generation: kernel functions become readable Python text (source printers), the text becomes machine code."""
