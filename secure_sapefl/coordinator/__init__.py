"""The server's side of a study: which message goes to which site next, what is kept, who is in.

It holds no key but its own for signing.
"""
