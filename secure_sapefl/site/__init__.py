"""The owner's side of a study.

The owner     policy (the rules), review and judgement (a study held against them), consent (signed, to one digest)
The site      home (its folder), setup, data and table (its records), state, own_model, predict, status
The ledgers   ledger (what left, came, was decided); privacy_store and spending watch over differential privacy
The round     agent (decides), study_site (opens and protects), trainer (trains; apart, with code of the study's),
              rejections (of sums), runner (`site start`)
"""
