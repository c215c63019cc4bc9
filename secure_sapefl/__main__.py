"""`python -m secure_sapefl` is `secure-sapefl`."""

from secure_sapefl.cli.app import main

main()
