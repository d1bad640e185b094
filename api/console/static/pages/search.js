/** @file Search by plate, camera, time and confidence, in pages or as a history. */

import { html, useEffect, useRef, useState } from "../html.js";
import { file, get } from "../api.js";
import { BYTE_ORDER_MARK, localTime, separator, writeCsv } from "../csv.js";
import { FilterFields, MomentField, filterOf, useCameras } from "../filters.js";
import { cameraName, number, shortDateTime } from "../format.js";
import { History } from "../history.js";
import { useAction, useLoad } from "../load.js";
import { Crop } from "../images.js";
import { Link, go, goQuery } from "../router.js";
import { useKeys } from "../shortcuts.js";
import { CopyButton, Empty, Fault, Field, FormFault, Head, Moment, Plate, Region, Segments, Confidence, Table, Waiting, save, toast } from "../ui.js";
import { t } from "../words.js";

const ROWS = 50;
const HOUR_MS = 3_600_000;
/** Maximum number of recognitions in one export. */
const EXPORTED = 100_000;
/** @type {[string, () => string][]} */
const SPANS = [
  ["1", () => t("Last hour")],
  ["24", () => t("Last 24 hours")],
  ["168", () => t("Last 7 days")],
  ["720", () => t("Last 30 days")],
];

function SpanField({ onSpan }) {
  const choose = (event) => {
    const hours = event.currentTarget.value;
    if (hours) onSpan(new Date(Math.floor(Date.now() / 60000) * 60000 - Number(hours) * HOUR_MS).toISOString());
    event.currentTarget.value = "";
  };
  return html`<${Field} label=${t("Quick range")}>${(ids) => html`<select ...${ids} onChange=${choose}><option value="">${t("Select…")}</option>${SPANS.map(([hours, text]) => html`<option key=${hours} value=${hours}>${text()}</option>`)}</select>`}</${Field}>`;
}

/** @param {any[]} rows */
function exported(rows) {
  const names = ["id", "timestamp", "localTime", "plate", "confidence", "cameraId", "cameraName"];
  return writeCsv([names, ...rows.map((row) => names.map((name) => (name === "localTime" ? localTime(row.timestamp) : (row[name] ?? ""))))]);
}

/** Exports everything that the filters match, up to the limit of the API. */
function ExportAll({ filter }) {
  const { isBusy, failure, run } = useAction();
  const start = () => run(async () => {
    const answer = await file("/api/recognitions/export", { ...filter, format: "csv", excel: true, separator });
    // The browser removes the mark when it decodes the response.
    save("recognitions-all.csv", "text/csv", BYTE_ORDER_MARK + answer.text);
    if (answer.headers.get("X-Next-Key")) toast(t("Exported the newest {n}. Narrow the time range to export the rest.", { n: number(EXPORTED) }));
  });
  return html`<button type="button" disabled=${isBusy} onClick=${start}>${isBusy ? t("Exporting…") : t("Export all as CSV")}</button><${FormFault} failure=${failure} />`;
}

function Results({ rows, at, onAt }) {
  const columns = [{ text: t("Image"), kind: "narrow" }, t("Plate"), { text: t("Confidence"), kind: "number" }, { text: t("Camera"), kind: "wide-cell" }, { text: t("Time"), kind: "wide-cell" }, { text: t("History"), isHidden: true }];
  const list = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => list.current?.querySelector("tr.at")?.scrollIntoView({ block: "nearest" }), [at]);
  return html`<div ref=${list}><${Table} caption=${t("Recognitions")} columns=${columns} kind="results">
    ${rows.map((row, place) => html`<tr key=${row.id} class=${place === at ? "at" : ""} onClick=${() => onAt(place)}>
      <td><${Crop} recognition=${row} width=${128} /></td>
      <td><${Link} href=${`/recognitions/${row.id}`} class="plate-link"><${Plate} text=${row.plate} /></${Link}><${Region} region=${row.region} />${row.correction?.plate && html` <span class="note">${t("corrected to")} <${Plate} text=${row.correction.plate} /></span>`}<span class="narrow-only"><bdi>${cameraName(row)}</bdi> · <${Moment} at=${row.timestamp} format=${shortDateTime} /></span></td>
      <td class="number"><${Confidence} value=${row.confidence} /></td>
      <td class="wide-cell"><bdi>${cameraName(row)}</bdi></td>
      <td class="wide-cell"><${Moment} at=${row.timestamp} /></td>
      <td><${Link} href=${`/search?plate=${encodeURIComponent(row.plate)}&match=exact&view=history`}>${t("History")}</${Link}></td>
    </tr>`)}
  </${Table}></div>`;
}

function Page({ query, filter }) {
  const [at, setAt] = useState(-1);
  const page = useLoad((abort) => get("/api/recognitions", { ...filter, ...(filter.plate && { corrected: true }), limit: ROWS, lastKey: query.lastKey }, abort), [filter, query.lastKey]);
  const rows = page.data?.recognitions ?? [];
  useEffect(() => setAt(-1), [page.data]);
  const next = () => page.data?.nextKey && goQuery({ lastKey: page.data.nextKey });
  const before = () => query.lastKey && history.back();
  useKeys({
    j: () => setAt((now) => Math.min(now + 1, rows.length - 1)),
    k: () => setAt((now) => Math.max(now - 1, 0)),
    n: next,
    p: before,
    Enter: () => rows[at] && go(`/recognitions/${rows[at].id}`),
  });
  return html`<${Fault} failure=${page.failure} retry=${page.reload} />
    ${page.isLoading && !page.data && html`<${Waiting} rows=${10} />`}
    ${page.data && rows.length === 0 && html`<${Empty} title=${t("No results")}>${t("Remove a filter, try another match mode or widen the time range.")}</${Empty}>`}
    ${rows.length > 0 && html`<${Results} rows=${rows} at=${at} onAt=${setAt} />
    <div class="pager">
      ${query.lastKey && html`<button type="button" onClick=${() => goQuery({ lastKey: "" })}>${t("First page")}</button><button type="button" onClick=${before}>${t("Previous page")}</button>`}
      <button type="button" disabled=${!page.data.nextKey} onClick=${next}>${t("Next page")}</button>
      <button type="button" onClick=${() => save("recognitions.csv", "text/csv", exported(rows))}>${t("Export page as CSV")}</button>
      <${ExportAll} filter=${filter} />
    </div>`}`;
}

export function SearchPage({ query }) {
  const cameras = useCameras();
  const { from = "", to = "" } = query;
  const filter = { ...filterOf(query), from, to };
  const set = (name) => (value) => goQuery({ [name]: value, lastKey: "" }, { replace: true });
  const view = query.view === "history" ? "history" : "list";
  const isAny = Object.values(filter).every((value) => !value);
  return html`<${Head} title=${t("Search")}>
      <${Segments} label=${t("View")} value=${view} onValue=${(value) => goQuery({ view: value === "list" ? "" : value, lastKey: "" })} options=${[["list", t("List")], ["history", t("History")]]} />
      <button type="button" disabled=${isAny} onClick=${() => go(view === "history" ? "/search?view=history" : "/search")}>${t("Clear filters")}</button>
      <${CopyButton} text=${location.href} label=${t("Copy link")} />
    </${Head}>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${FilterFields} query=${query} cameras=${cameras.data} />
      <${MomentField} label=${t("From")} value=${from} onValue=${set("from")} />
      <${MomentField} label=${t("To")} value=${to} onValue=${set("to")} />
      <${SpanField} onSpan=${(since) => goQuery({ from: since, to: "", lastKey: "" }, { replace: true })} />
    </form>
    ${view === "list" ? html`<${Page} query=${query} filter=${filter} />` : html`<${History} filter=${filter} />`}`;
}
