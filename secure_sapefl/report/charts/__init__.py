"""Charts: `drawing` turns one into a file; `run` lists those of a run; the others draw."""
