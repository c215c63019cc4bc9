"""Messages as heads and pieces: a head is small and JSON, a piece is large and bytes."""
