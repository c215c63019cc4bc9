"""The owner's side of a study.

The owner     policy (the rules), review (a study held against them), consent (signed, to one digest)
The site      home (its folder), setup, data and table (its records), state, own_model, predict, status
The ledgers   ledger, ledger_lines and ledger_export; privacy_store and spending watch over differential privacy
The round     agent (decides), study_ledger (writes down), study_site (computes), runner (`site start`)
"""
