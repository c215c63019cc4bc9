"use strict";
/* Sorting, and finding sites by name; everything else on the page works without this, also filtering by verdict. */
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
    const search = tools.querySelector("input[type=search]");
    const filter = () => {
      const wanted = search.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      const shown = rows.filter((row) => row.getClientRects().length).length;
      tools.querySelector("output").value = `${shown} of ${rows.length} sites`;
    };
    tools.addEventListener("input", filter);
    for (const part of tools.querySelectorAll(".scripted")) part.hidden = false;
    filter();
  }
};
prepareTables();
