"""One file a dataset: what it is, where it comes from, how its rows are prepared."""
