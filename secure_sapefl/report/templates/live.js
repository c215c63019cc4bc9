/* While the run goes on: ask for news every second, and put a new page in the place of the old one. */
const live = document.getElementById("live");
const sortKey = (table) => [...table.tHead.rows[0].cells].map((header) => header.getAttribute("aria-sort"));
const fields = () => [...document.querySelectorAll(".tools input")];
const kept = (field) => (field.type === "radio" ? "checked" : "value");
const state = () => ({
  open: [...document.querySelectorAll("details")].map((details) => details.open),
  sorted: [...document.querySelectorAll("table.sortable")].map(sortKey),
  typed: fields().map((field) => field[kept(field)]),
  focus: fields().indexOf(document.activeElement),
});
const restore = ({ open, sorted, typed, focus }) => {
  document.querySelectorAll("details").forEach((details, i) => { details.open = open[i] ?? details.open; });
  document.querySelectorAll("table.sortable").forEach((table, i) => {
    const column = (sorted[i] ?? []).findIndex((direction) => direction !== null);
    const button = table.querySelectorAll("thead button")[column];
    if (button) button.click();
    if (button && sorted[i][column] === "descending") button.click();
  });
  fields().forEach((field, i) => {
    field[kept(field)] = typed[i] ?? field[kept(field)];
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  if (focus >= 0) fields()[focus].focus({ preventScroll: true });
};
const text = async (address) => {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
};
const show = (page) => {
  const before = state();
  document.title = page.title;
  for (const part of ["h1", "main"]) document.querySelector(part).replaceWith(page.querySelector(part));
  const news = page.getElementById("live");
  live.dataset.revision = news.dataset.revision;
  live.textContent = news.textContent;
  prepareTables();
  restore(before);
};
const watch = async () => {
  try {
    if ((await text("revision")) !== live.dataset.revision) {
      show(new DOMParser().parseFromString(await text("."), "text/html"));
    }
  } catch {
    live.textContent = "No answer any more: it was stopped, or is over. This is the last state seen here; a new start has a new address.";
    return;
  }
  if (!live.dataset.revision.endsWith("over")) setTimeout(watch, 1000);
};
watch();
