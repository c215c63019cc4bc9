"""Observers in the box: a table of a run as it grows, curves for TensorBoard, a bar in a notebook."""
