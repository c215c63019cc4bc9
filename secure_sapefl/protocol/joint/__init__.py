"""Joint keys in a study: a site's key of its own each round, and a committee of sites that opens nothing but sums.

possible.py     which studies can have them
terms.py        what everybody knows: plan, roster, each round's committee
messages.py     what server and committee say to each other
server.py       the server's half of the legs: it relays, adds up, and holds no key
site.py         a site's half: its keys of one attempt at a round, as sender and as member
codec.py        what a site opens and seals outside the legs
"""
