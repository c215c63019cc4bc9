"""Real studies: what coordinator and sites agree on, what a site's owner allows, and what carries the messages.

The study     study_file (one signed file, whose digest is its identity), roster, schema; study_terms is what follows
              from it, study_new makes one, study_sheet and plain_words explain it, mock fills it with made-up records
The owner     policy (the rules), review and cost (a study held against them), consent (signed, to one digest)
The site      site_home (its folder), site_data and site_table (its records), site_state, own_model, predict
The ledgers   site_ledger, ledger_lines and ledger_export; privacy_store and spending watch over differential privacy
The messages  wire and parts (signed letters), agent and study_site (a site's side), coordinator (the server's),
              server_state, agent_socket, and the parts that know Flower: flower, relay_app, server_app
"""
