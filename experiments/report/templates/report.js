"use strict";
// The browser of samples. All text goes through textContent; nothing that a model wrote is ever parsed as markup.
const entries = JSON.parse(document.getElementById("entries").textContent);
const form = document.getElementById("filter");
const fields = ["model", "variant", "skill", "shots", "outcome"];
const page = 20;
let matching = [];
let shown = 0;

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

for (const field of fields) {
  const select = form.elements[field];
  select.add(new Option("all", ""));
  for (const value of new Set(entries.map((entry) => String(entry[field])))) {
    select.add(new Option(field === "outcome" ? value.replaceAll("_", " ") : value, value));
  }
}

function replyOf(entry) {
  const box = make("div", "reply");
  box.append(make("span", "who", entry.question + "\n"));
  for (const [writer, text] of entry.reply) box.append(make("span", writer, text));
  return box;
}

function callsOf(entry) {
  const box = make("details");
  box.append(make("summary", "", entry.calls.length === 1 ? "1 call" : entry.calls.length + " calls"));
  const table = make("table", "plain calls");
  for (const call of entry.calls) {
    const row = make("tr");
    row.append(make("th", "", call.name), make("td", "", call.arguments), make("td", "", call.status));
    row.append(make("td", "", call.result));
    table.append(row);
  }
  box.append(table);
  return box;
}

function itemOf(entry) {
  const item = make("li");
  const meta = make("div", "meta");
  const verdict = entry.passed === null ? "unknown" : entry.passed ? "right" : "wrong";
  const word = { unknown: "no verdict", right: "passed", wrong: "failed" }[verdict];
  meta.append(make("span", "badge " + verdict, word + ": " + entry.outcome.replaceAll("_", " ")));
  meta.append(make("span", "", "truth " + entry.truth + ", answer " + (entry.answer === null ? "none" : entry.answer)));
  meta.append(make("span", "", (entry.heldOut ? "held out" : "seen") + ", ended by " + entry.finish));
  meta.append(make("span", "id", entry.id));
  item.append(meta, replyOf(entry));
  if (entry.calls.length) item.append(callsOf(entry));
  return item;
}

function more() {
  const list = document.getElementById("list");
  for (const entry of matching.slice(shown, shown + page)) list.append(itemOf(entry));
  shown = Math.min(matching.length, shown + page);
  document.getElementById("count").textContent = matching.length + " match, " + shown + " shown";
  document.getElementById("more").hidden = shown >= matching.length;
}

function apply() {
  const needle = form.elements.text.value.toLowerCase();
  matching = entries.filter((entry) =>
    fields.every((field) => !form.elements[field].value || form.elements[field].value === String(entry[field])) &&
    (!needle || (entry.question + entry.reply.map((piece) => piece[1]).join("")).toLowerCase().includes(needle)));
  document.getElementById("list").replaceChildren();
  shown = 0;
  more();
}

function readAddress() {
  if (!location.hash.startsWith("#browse?")) return;
  const wanted = new URLSearchParams(location.hash.slice("#browse?".length));
  for (const field of [...fields, "text"]) form.elements[field].value = wanted.get(field) || "";
  document.getElementById("browse").scrollIntoView();
  apply();
}

function writeAddress() {
  const chosen = [...fields, "text"].filter((field) => form.elements[field].value);
  const query = new URLSearchParams(chosen.map((field) => [field, form.elements[field].value]));
  history.replaceState(null, "", "#browse?" + query);
}

form.addEventListener("input", () => { writeAddress(); apply(); });
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("more").addEventListener("click", more);
window.addEventListener("hashchange", readAddress);
apply();
readAddress();
