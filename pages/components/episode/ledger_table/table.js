// Draws the rows. A click sends an event with the decision's index, which the player listens to.

export default function ({ data, parentElement }) {
  const known = parentElement.querySelector(".scroll");
  const scroll = known ?? element("div", "scroll");
  const left = scroll.scrollLeft;
  scroll.replaceChildren(tableOf(data));
  if (!known) {
    parentElement.append(scroll);
    scroll.addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-decision]");
      if (row) askFor(Number(row.dataset.decision));
    });
    scroll.addEventListener("scroll", () => coverHalves(scroll));
    new ResizeObserver(() => coverHalves(scroll)).observe(scroll);
  }
  scroll.scrollLeft = left;
  coverHalves(scroll);
}

// A column that lies partly under one of the fixed columns is hidden whole: half a number is another number.
function coverHalves(scroll) {
  const box = (node) => node.getBoundingClientRect();
  const names = scroll.querySelector(".names");
  const start = box(names.querySelector(".decision")).right;
  const end = box(names.querySelector(".env")).left;
  const columns = [...names.children].slice(1, -2).map(box);
  const before = columns.find(({ left, right }) => left < start - 1 && right > start + 1);
  const after = columns.find(({ left, right }) => left < end - 1 && right > end + 1);
  scroll.style.setProperty("--before", `${before ? before.right - start : 0}px`);
  scroll.style.setProperty("--after", `${after ? end - after.left : 0}px`);
}

function askFor(decision) {
  document.dispatchEvent(new CustomEvent("craftscope-decision", { detail: decision }));
}

function tableOf({ columns, rows, current, envColour }) {
  const table = element("table");
  table.style.setProperty("--env", envColour);
  const head = element("thead");
  head.append(groupsRow(columns), namesRow(columns));
  const body = element("tbody");
  body.append(...rows.map((row) => rowOf(row, columns, row.decision === current)));
  table.append(head, body);
  return table;
}

function groupsRow(columns) {
  const row = element("tr", "groups");
  row.append(element("th", "decision"), element("th", "shaped"), element("th", "to-go"));
  for (let at = 0; at < columns.length; ) {
    const { group } = columns[at];
    const start = at;
    while (at < columns.length && columns[at].group === group) at++;
    const cell = element("th", "group", group);
    cell.colSpan = at - start;
    row.append(cell);
  }
  row.append(element("th", "filler"), element("th", "env"));
  return row;
}

function namesRow(columns) {
  const row = element("tr", "names");
  row.append(
    titled("decision", "decision", "Click a row to go there"),
    titled("shaped", "shaped", "Lambda times the sum of the components to the right"),
    titled("to-go", "return-to-go", "Shaped return from this decision to the end"),
  );
  for (const { name, colour } of columns) {
    const cell = element("th", "component");
    cell.style.setProperty("--colour", colour);
    cell.append(element("span", "", name));
    row.append(cell);
  }
  row.append(element("th", "filler"), titled("env", "env", "Crafter's own reward, not part of the sum"));
  return row;
}

function rowOf({ decision, label, shaped, to_go, env, cells }, columns, isCurrent) {
  const row = element("tr", isCurrent ? "current" : "");
  row.dataset.decision = String(decision);
  if (isCurrent) row.setAttribute("aria-current", "true");
  const button = element("button", "", label);
  button.type = "button";
  const first = element("th", "decision");
  first.append(button);
  row.append(first, element("td", "shaped", shaped), element("td", "to-go", to_go));
  const byColumn = new Map(cells.map((cell) => [cell.column, cell]));
  for (let at = 0; at < columns.length; at++) row.append(cellOf(byColumn.get(at), columns[at].colour));
  row.append(element("td", "filler"), element("td", "env", env));
  return row;
}

function cellOf(cell, colour) {
  if (!cell) return element("td");
  const node = titled("paid", cell.text, cell.tooltip, "td");
  node.style.setProperty("--colour", colour);
  node.style.setProperty("--strength", `${Math.round(cell.strength * 100)}%`);
  return node;
}

function titled(className, text, title, tag = "th") {
  const node = element(tag, className, text);
  node.title = title;
  return node;
}

function element(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.textContent = text;
  return node;
}
