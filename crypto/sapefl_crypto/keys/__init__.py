"""A site's own keys: made, kept in a file, certified, and used to sign. Nothing here knows ciphertexts."""
