"""What any method owes the round loop, as checks that `secure-sapefl check-method` and our own tests run alike."""
