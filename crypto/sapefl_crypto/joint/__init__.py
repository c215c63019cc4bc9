"""Joint keys: every site has a key of its own each round, a committee opens only the sum. See README.md, "Joint keys".

plan.py         bit budget, error width, promised grid
field.py        numbers modulo q: exact sums, products and streams
ring.py         ring products, by SEAL
shamir.py       shares over F_q
sealing.py      a site's sealing key of one round; one message for many readers
occasion.py     what a message belongs to
frames.py, aggregate.py, answers.py   messages and their parsers
tags.py         integer tags
round_key.py    the site: encrypt once, deal shares, forget
aggregator.py   the server
committee.py, drawing.py, member.py, policy.py, certificate.py   who may open a sum, and on what terms
recombining.py, opening.py   the site again: answers to key, sum to mean
openable.py     a sum with all it takes to open it
sealed_vector.py   a vector for named readers
"""
