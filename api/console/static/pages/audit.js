/** @file The audit log: who searched, changed, exported and erased what, in pages. */

import { html, useEffect, useRef, useState } from "../html.js";
import { get } from "../api.js";
import { KINDS, pathOf, sentence, valueText } from "../audit-words.js";
import { localTime, writeCsv } from "../csv.js";
import { MomentField } from "../filters.js";
import { number, shortDateTime } from "../format.js";
import { useLoad } from "../load.js";
import { Link, go, goQuery } from "../router.js";
import { useKeys } from "../shortcuts.js";
import { CopyButton, Empty, Fault, Field, Head, Moment, SelectField, Table, Waiting, save } from "../ui.js";
import { t } from "../words.js";

const ROWS = 50;
const UNSHOWN = ["count", "plateHashes"];
const CREATED = /\.(created|joined|deleted|removed|revoked)$/;

/** @param {any[]} entries */
function exported(entries) {
  const head = ["timestamp", "localTime", "action", "actor", "subject", "changes", "parameters", "address", "requestId"];
  const rows = entries.map((one) => [
    one.timestamp, localTime(one.timestamp), one.action, one.actor.name ?? one.actor.kind, one.subject?.name ?? one.subject?.id ?? "",
    JSON.stringify(one.changes), JSON.stringify(one.parameters), one.address ?? "", one.requestId ?? "",
  ]);
  return writeCsv([head, ...rows]);
}

function Change({ field, before, after, added = 0, removed = 0 }) {
  if (added || removed) return html`<li><code>${field}</code> ${t("{added} added, {removed} removed", { added: number(added), removed: number(removed) })}</li>`;
  const isSecret = before === undefined && after === undefined;
  return html`<li><code>${field}</code> ${isSecret ? t("(hidden)") : html`<bdi>${valueText(before)}</bdi> → <bdi>${valueText(after)}</bdi>`}</li>`;
}

function Details({ entry }) {
  const asked = Object.entries(entry.parameters).filter(([name]) => !UNSHOWN.includes(name));
  const isWhole = CREATED.test(entry.action);
  return html`
    ${!isWhole && entry.changes.length > 0 && html`<ul class="audit-changes">${entry.changes.map((change) => html`<${Change} key=${change.field} ...${change} />`)}</ul>`}
    ${asked.length > 0 && html`<p class="hint">${asked.map(([name, value]) => html`<span key=${name}><code>${name}</code> <bdi>${valueText(value)}</bdi> </span>`)}</p>`}`;
}

function Entries({ entries, at, onAt }) {
  const list = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => list.current?.querySelector("tr.at")?.scrollIntoView({ block: "nearest" }), [at]);
  const columns = [{ text: t("Time"), kind: "wide-cell" }, t("Activity"), { text: t("IP address"), kind: "wide-cell" }];
  return html`<div ref=${list}><${Table} caption=${t("Audit log")} columns=${columns} kind="results">
    ${entries.map((entry, place) => {
      const target = pathOf(entry);
      return html`<tr key=${entry.id} class=${place === at ? "at" : ""} onClick=${() => onAt(place)}>
        <td class="wide-cell"><${Moment} at=${entry.timestamp} /></td>
        <td class="audit-entry"><span class="narrow-only"><${Moment} at=${entry.timestamp} format=${shortDateTime} /></span>
          ${target ? html`<${Link} href=${target}><bdi>${sentence(entry)}</bdi></${Link}>` : html`<bdi>${sentence(entry)}</bdi>`}
          <${Details} entry=${entry} /></td>
        <td class="wide-cell"><bdi>${entry.address ?? "–"}</bdi></td>
      </tr>`;
    })}
  </${Table}></div>`;
}

function Page({ query, filter }) {
  const [at, setAt] = useState(-1);
  const page = useLoad((abort) => get("/api/audit", { ...filter, limit: ROWS, lastKey: query.lastKey }, abort), [filter, query.lastKey]);
  const entries = page.data?.entries ?? [];
  useEffect(() => setAt(-1), [page.data]);
  const next = () => page.data?.nextKey && goQuery({ lastKey: page.data.nextKey });
  const before = () => query.lastKey && history.back();
  useKeys({
    j: () => setAt((now) => Math.min(now + 1, entries.length - 1)),
    k: () => setAt((now) => Math.max(now - 1, 0)),
    n: next,
    p: before,
    Enter: () => {
      const target = entries[at] && pathOf(entries[at]);
      if (target) go(target);
    },
  });
  return html`<${Fault} failure=${page.failure} retry=${page.reload} />
    ${page.isLoading && !page.data && html`<${Waiting} rows=${10} />`}
    ${page.data && entries.length === 0 && html`<${Empty} title=${t("No results")}>${t("Remove a filter or widen the time range.")}</${Empty}>`}
    ${entries.length > 0 && html`<${Entries} entries=${entries} at=${at} onAt=${setAt} />
    <div class="pager">
      ${query.lastKey && html`<button type="button" onClick=${() => goQuery({ lastKey: "" })}>${t("First page")}</button><button type="button" onClick=${before}>${t("Previous page")}</button>`}
      <button type="button" disabled=${!page.data.nextKey} onClick=${next}>${t("Next page")}</button>
      <button type="button" onClick=${() => save("audit.csv", "text/csv", exported(entries))}>${t("Export page as CSV")}</button>
    </div>`}`;
}

export function AuditPage({ query }) {
  const { from = "", to = "", action = "", actor = "", subject = "", plate = "" } = query;
  const filter = { from, to, action, actor, subject, plate };
  const set = (name) => (value) => goQuery({ [name]: value, lastKey: "" }, { replace: true });
  const isAny = Object.values(filter).every((value) => !value);
  const isOther = action && !KINDS.some(([kind]) => kind === action);
  const kinds = [["", t("All actions")], ...KINDS.map(([kind, text]) => [kind, text()]), ...(isOther ? [[action, action]] : [])];
  return html`<${Head} title=${t("Audit log")} note=${t("Who searched, changed, exported and erased what. Entries can't be edited.")}>
      <button type="button" disabled=${isAny} onClick=${() => go("/audit")}>${t("Clear filters")}</button>
      <${CopyButton} text=${location.href} label=${t("Copy link")} />
    </${Head}>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${SelectField} label=${t("Action")} value=${action} onValue=${set("action")} options=${kinds} />
      <${Field} label=${t("Who")}>${(ids) => html`<input ...${ids} type="search" maxlength="300" autocomplete="off" spellcheck=${false} placeholder=${t("Email or API key name")} value=${actor} onChange=${(event) => set("actor")(event.currentTarget.value.trim())} />`}</${Field}>
      <${Field} label=${t("Plate")}>${(ids) => html`<input ...${ids} type="search" maxlength="50" autocomplete="off" spellcheck=${false} value=${plate} onChange=${(event) => set("plate")(event.currentTarget.value.trim())} />`}</${Field}>
      <${MomentField} label=${t("From")} value=${from} onValue=${set("from")} />
      <${MomentField} label=${t("To")} value=${to} onValue=${set("to")} />
    </form>
    <${Page} query=${query} filter=${filter} />`;
}
