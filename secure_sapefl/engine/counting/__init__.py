"""Encrypted counts of a simulated study.

sums.py        one round in which sites count, the server adds, and sites open the total
agreement.py   one preparation of all tables, agreed before the first round
table_one.py   a Table 1 over all sites
"""
