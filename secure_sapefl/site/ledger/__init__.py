"""The site's own ledger: everything that was asked, sent, checked and refused, one signed and chained line each.

files (on disk, verified), lines (what a line says), study (what an agent enters about one study), export (for auditors)
"""
