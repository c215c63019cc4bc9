"use strict";
/* Sorting and filtering; everything else on the page works without this. */
const value = (row, column, kind) => {
  const cell = row.cells[column];
  return kind === "number" ? parseFloat(cell.dataset.value) : cell.textContent.trim();
};
const order = (a, b) => {
  if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
  return isNaN(a) - isNaN(b) || a - b;
};
const prepareTables = () => {
  for (const table of document.querySelectorAll("table.sortable")) {
    const headers = [...table.tHead.rows[0].cells];
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => {
        const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        headers.forEach((other) => other.removeAttribute("aria-sort"));
        header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        const key = (row) => value(row, column, header.dataset.sort);
        const missing = (row) => Number.isNaN(key(row));
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => missing(a) - missing(b) || sign * order(key(a), key(b)));
        table.tBodies[0].append(...rows);
      });
    });
  }
  for (const tools of document.querySelectorAll(".tools")) {
    const rows = [...document.getElementById(tools.dataset.for).tBodies[0].rows];
    const [search, choice] = [tools.querySelector("input"), tools.querySelector("select")];
    const filter = () => {
      const wanted = search.value.trim().toLowerCase();
      const verdict = choice ? choice.value : "";
      for (const row of rows) {
        const named = row.cells[0].textContent.toLowerCase().includes(wanted);
        row.hidden = !named || (verdict !== "" && row.dataset.verdict !== verdict);
      }
      tools.querySelector("output").value = `${rows.filter((row) => !row.hidden).length} of ${rows.length} sites`;
    };
    tools.addEventListener("input", filter);
    tools.hidden = false;
    filter();
  }
};
prepareTables();
