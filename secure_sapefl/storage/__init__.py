"""What is kept on disk, and how.

files        written whole or not at all, private or ordinary
json_lines   a line a value
lock         one process at a time
parts        several pieces of bytes as one
"""
