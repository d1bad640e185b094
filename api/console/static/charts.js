/** @file Charts of a few numbers, each with a table. */

import { html } from "./html.js";
import { number } from "./format.js";
import { Table } from "./ui.js";
import { t } from "./words.js";

/** @typedef {{name: string, value: number, note?: string, href?: string}} Entry */

/** Returns the next round number as the end of a scale. @param {number} value */
function roundUp(value) {
  if (value <= 5) return 5;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((each) => each * size).find((each) => each >= value) ?? value;
}

/** A chart with its numbers as a table on demand. */
export function Figure({ title, columns, rows, children }) {
  return html`<figure class="panel chart"><figcaption><h2>${title}</h2></figcaption>${children}
    ${rows.length > 0 && html`<details><summary>${t("View as table")}</summary><${Table} caption=${title} columns=${columns}>${rows}</${Table}></details>`}</figure>`;
}

/**
 * Vertical bars. Every nth name is written (`every`). Days are counted from the last day, which comes first in the table.
 * @param {{title: string, entries: Entry[], column: string, every: number, unit: string, areDays?: boolean}} props
 */
export function Columns({ title, entries, column, every, unit, areDays = false }) {
  const top = roundUp(Math.max(...entries.map((entry) => entry.value), 1));
  const isNamed = (/** @type {number} */ at) => (areDays ? entries.length - 1 - at : at) % every === 0;
  const rows = (areDays ? [...entries].reverse() : entries).map((entry) => html`<tr key=${entry.name}><td>${entry.name}</td><td class="number">${number(entry.value)}</td></tr>`);
  return html`<${Figure} title=${title} columns=${[column, { text: unit, kind: "number" }]} rows=${rows}>
    <div class="columns-chart" role="img" aria-label=${t("{title}: {unit}, up to {top}", { title, top: number(Math.max(...entries.map((entry) => entry.value))), unit })}>
      <div class="scale"><span>${number(top)}</span><span>${number(top / 2)}</span><span>0</span></div>
      <div class=${every === 1 ? "bars each" : "bars"}>${entries.map((entry, at) => html`<div key=${entry.name} class="chart-bar" title=${`${entry.name}: ${number(entry.value)}`}>
        <span class="bar-fill" style=${{ height: `${(100 * entry.value) / top}%` }}></span><span class="bar-name">${isNamed(at) ? entry.name : ""}</span></div>`)}</div>
    </div>
  </${Figure}>`;
}

/**
 * Horizontal bars, longest bar first.
 * @param {{title: string, entries: Entry[], column: string, unit: string, render: (entry: Entry) => unknown}} props
 */
export function Ranking({ title, entries, column, unit, render }) {
  const top = Math.max(...entries.map((entry) => entry.value), 1);
  const rows = entries.map((entry) => html`<tr key=${entry.name}><td><bdi>${entry.name}</bdi></td><td class="number">${number(entry.value)}</td></tr>`);
  return html`<${Figure} title=${title} columns=${[column, { text: unit, kind: "number" }]} rows=${rows}>
    ${entries.length ? html`<ol class="ranking">${entries.map((entry) => html`<li key=${entry.href ?? entry.name}><span class="ranking-name">${render(entry)}</span>
      <span class="ranking-bar" aria-hidden="true"><span style=${{ width: `${(100 * entry.value) / top}%` }}></span></span><span class="number">${number(entry.value)}</span></li>`)}</ol>` : html`<p class="note">${t("No data yet")}</p>`}
  </${Figure}>`;
}

/**
 * Weekdays by hour. Darker cells have higher counts.
 * @param {{title: string, days: string[], counts: number[][]}} props `counts` by day and hour
 */
export function HeatMap({ title, days, counts }) {
  const top = Math.max(...counts.flat(), 1);
  const hours = Array.from({ length: 24 }, (_, hour) => hour);
  return html`<figure class="panel chart wide-chart"><figcaption><h2>${title}</h2></figcaption>
    <${Table} caption=${title} kind="heat" columns=${[t("Weekday"), ...hours.map((hour) => ({ text: String(hour), kind: "number" }))]}>
      ${days.map((day, at) => html`<tr key=${day}><th scope="row">${day}</th>${hours.map((hour) => html`<td key=${hour} class=${`number heat-${Math.ceil((8 * counts[at][hour]) / top)}`}>${counts[at][hour] ? number(counts[at][hour]) : ""}</td>`)}</tr>`)}
    </${Table}><p class="heat-legend note" aria-hidden="true">1 ${[2, 4, 6, 8].map((step) => html`<span key=${step} class=${`heat-${step}`}></span>`)} ${number(top)}</p></figure>`;
}
