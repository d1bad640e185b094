/** @file Search by plate, camera, time and confidence, in pages or as a history. */

import { html, useEffect, useRef, useState } from "../html.js";
import { file, get } from "../api.js";
import { BYTE_ORDER_MARK, localTime, separator, writeCsv } from "../csv.js";
import { ClearFilters, Count, FilterFields, RangeField, filterOf, firstPage, useCameras, useRange } from "../filters.js";
import { cameraName, number, shortDateTime } from "../format.js";
import { History } from "../history.js";
import { useAction, useLoad } from "../load.js";
import { Crop } from "../images.js";
import { Link, go, goQuery, opens } from "../router.js";
import { useKeys } from "../shortcuts.js";
import { CopyButton, Empty, Fault, FormFault, Head, Moment, Plate, Region, Segments, Confidence, Table, Waiting, save, toast } from "../ui.js";
import { t } from "../words.js";

const ROWS = 50;
/** Maximum number of recognitions in one export. */
const EXPORTED = 100_000;
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

function Results({ rows, at }) {
  const columns = [{ text: t("Image"), kind: "narrow" }, t("Plate"), { text: t("Confidence"), kind: "number" }, { text: t("Camera"), kind: "wide-cell" }, { text: t("Time"), kind: "wide-cell" }];
  const list = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => list.current?.querySelector("tr.at")?.scrollIntoView({ block: "nearest" }), [at]);
  return html`<div ref=${list}><${Table} caption=${t("Recognitions")} columns=${columns} kind="results">
    ${rows.map((row, place) => html`<tr key=${row.id} class=${place === at ? "opens at" : "opens"} onClick=${opens(`/recognitions/${row.id}`)}>
      <td><${Crop} recognition=${row} width=${128} /></td>
      <td><${Link} href=${`/recognitions/${row.id}`} class="plate-link"><${Plate} text=${row.plate} /></${Link}><${Region} region=${row.region} />${row.correction?.plate && html` <span class="note">${t("corrected to")} <${Plate} text=${row.correction.plate} /></span>`}<span class="narrow-only"><bdi>${cameraName(row)}</bdi> · <${Moment} at=${row.timestamp} format=${shortDateTime} /></span></td>
      <td class="number"><${Confidence} value=${row.confidence} /></td>
      <td class="wide-cell"><bdi>${cameraName(row)}</bdi></td>
      <td class="wide-cell"><${Moment} at=${row.timestamp} /></td>
    </tr>`)}
  </${Table}></div>`;
}

function Page({ query, filter }) {
  const [at, setAt] = useState(-1);
  const page = useLoad((abort) => get("/api/recognitions", { ...filter, ...(filter.plate && { corrected: true }), limit: ROWS, lastKey: query.lastKey }, abort), [filter, query.lastKey]);
  const rows = page.data?.recognitions ?? [];
  useEffect(() => setAt(-1), [page.data]);
  // The pages of a list have the same filter, so the start of a relative time range stays.
  const next = () => page.data?.nextKey && goQuery({ lastKey: page.data.nextKey, from: filter.from, page: (Number(query.page) || 1) + 1 });
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
    ${rows.length > 0 && html`<${Count} query=${query} rows=${rows.length} size=${ROWS} isLast=${!page.data.nextKey} />
    <${Results} rows=${rows} at=${at} />
    <div class="pager">
      ${query.lastKey && html`<button type="button" onClick=${() => goQuery(firstPage(query))}>${t("First page")}</button><button type="button" onClick=${before}>${t("Previous page")}</button>`}
      <button type="button" disabled=${!page.data.nextKey} onClick=${next}>${t("Next page")}</button>
      <button type="button" onClick=${() => save("recognitions.csv", "text/csv", exported(rows))}>${t("Export page as CSV")}</button>
      <${ExportAll} filter=${filter} />
    </div>`}`;
}

export function SearchPage({ query }) {
  const cameras = useCameras();
  const filter = { ...filterOf(query), ...useRange(query) };
  const view = query.view === "history" ? "history" : "list";
  return html`<${Head} title=${t("Search")}>
      <${Segments} label=${t("View")} value=${view} onValue=${(value) => goQuery({ ...firstPage(query), view: value === "list" ? "" : value })} options=${[["list", t("List")], ["history", t("History")]]} />
      <${CopyButton} text=${location.href} label=${t("Copy link")} />
    </${Head}>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${FilterFields} query=${query} cameras=${cameras.data} /><${RangeField} query=${query} /><${ClearFilters} query=${query} />
    </form>
    ${view === "list" ? html`<${Page} query=${query} filter=${filter} />` : html`<${History} filter=${filter} />`}`;
}
