"""The command line: `pelton-opt` runs passes on text, and upstream's `xdsl-opt` finds our dialects and passes here."""
