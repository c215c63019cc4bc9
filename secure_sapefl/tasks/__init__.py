"""What is learned: labels, loss, outputs, metrics and similarity of outputs, a task each."""
