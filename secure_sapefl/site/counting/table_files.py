"""A Table 1 on a site's disk: for a paper (CSV), for a program (JSON), and with what its readers have to know."""

import json
from pathlib import Path
from typing import Any

from secure_sapefl.data.tables.table_one import TableOne
from secure_sapefl.storage.files import write_private
from secure_sapefl.study.counting import CountingTerms
from secure_sapefl.study.counting_words import table_notes


def document(table: TableOne, sites: int, terms: CountingTerms) -> dict[str, Any]:
    return table.to_json() | {
        "study": terms.payer.name,
        "digest": terms.payer.digest,
        "sites_in_the_sum": sites,
        "notes": list(table_notes(terms, sites)),
    }


def write_table(folder: Path, table: TableOne, sites: int, terms: CountingTerms) -> Path:
    """`table-1.csv` and `table-1.json`; the first is returned."""
    text = json.dumps(document(table, sites, terms), indent=1, ensure_ascii=False)
    write_private(folder / "table-1.json", text.encode())
    write_private(folder / "table-1.csv", table.to_csv().encode())
    return folder / "table-1.csv"
