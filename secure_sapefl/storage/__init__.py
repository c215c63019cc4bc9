"""What is kept on disk, and how.

files        written whole or not at all, private or ordinary
chained_log  lines that only grow, each with the digest of all before it; `chain` has its values
json_lines   a line a value
lock         one process at a time
parts        several pieces of bytes as one
"""
