"""Real studies: what coordinator and sites agree on, what a site's owner allows, and what carries the messages.

schema, study_file   the study: one signed file whose digest is its identity
policy, review       the owner's rules, and the study held against them line by line
site_home            a site's folder: identity, cohort keys, data, consents, ledgers, models
"""
