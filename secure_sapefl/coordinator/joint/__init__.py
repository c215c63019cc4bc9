"""The server's side of a deployed study with joint keys: the committee's legs between its rounds' uploads.

rounds.py   when a leg begins and ends, and when a sum stays closed
files.py    what came in the open round, which attempt it is, and the claim once there is one: on disk
"""
