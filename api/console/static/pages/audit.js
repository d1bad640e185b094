/** @file The audit log: who searched, changed, exported and erased what, in pages. */

import { html, useEffect, useRef, useState } from "../html.js";
import { get } from "../api.js";
import { KINDS, actionText, actorText, fieldText, objectText, pathOf, valueText } from "../audit-words.js";
import { localTime, writeCsv } from "../csv.js";
import { ClearFilters, Count, RangeField, SearchField, firstPage, useRange } from "../filters.js";
import { number, shortDateTime, time } from "../format.js";
import { useLoad } from "../load.js";
import { Link, go, goQuery } from "../router.js";
import { useKeys } from "../shortcuts.js";
import { CopyButton, Empty, Fault, Head, Moment, SelectField, Table, Waiting, save } from "../ui.js";
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

/** Returns the names of the account's objects by ID, for entries that have only an ID. @param {AbortSignal} abort @returns {Promise<Record<string, string>>} */
async function objectNames(abort) {
  const [cameras, alerts, webhooks] = await Promise.all(["/api/cameras", "/api/alertas", "/api/webhooks"].map((path) => get(path, {}, abort)));
  return Object.fromEntries([...cameras.cameras, ...alerts.alerts, ...webhooks.webhooks].map((one) => [one.id, one.name]));
}

/** Returns runs of the same action on the same object, which changed nothing. @param {any[]} entries @returns {any[][]} */
function grouped(entries) {
  const keyOf = (one) => JSON.stringify([one.actor, one.action, one.subject?.kind === "session" ? "" : one.subject, one.address, one.changes.length ? one.id : ""]);
  /** @type {any[][]} */
  const groups = [];
  for (const one of entries) {
    const last = groups.at(-1);
    if (last && keyOf(last[0]) === keyOf(one)) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

function Change({ field, before, after, added = 0, removed = 0, names }) {
  if (added || removed) return html`<li>${fieldText(field)}: ${t("{added} added, {removed} removed", { added: number(added), removed: number(removed) })}</li>`;
  const isSecret = before === undefined && after === undefined;
  return html`<li>${fieldText(field)}: ${isSecret ? t("(hidden)") : html`${before !== undefined && html`<bdi>${valueText(field, before, names)}</bdi> → `}<bdi>${valueText(field, after, names)}</bdi>`}</li>`;
}

/** The parameters of an entry: the filters of a search, for example. */
function Parameters({ entry, names }) {
  const asked = Object.entries(entry.parameters).filter(([name]) => !UNSHOWN.includes(name));
  return asked.map(([name, value], at) => html`<span key=${name}>${at > 0 && " · "}${fieldText(name)}: <bdi>${valueText(name, value, names)}</bdi></span>`);
}

function Details({ entries, names }) {
  const [entry] = entries;
  if (entries.length > 1) {
    return html`<details><summary>${t("Show all {n}", { n: number(entries.length) })}</summary>
      <ul class="audit-changes">${entries.map((one) => html`<li key=${one.id}><${Moment} at=${one.timestamp} format=${time} /> <${Parameters} entry=${one} names=${names} /></li>`)}</ul></details>`;
  }
  return html`<div class="note"><${Parameters} entry=${entry} names=${names} /></div>
    ${!CREATED.test(entry.action) && entry.changes.length > 0 && html`<ul class="audit-changes">${entry.changes.map((change) => html`<${Change} key=${change.field} ...${change} names=${names} />`)}</ul>`}`;
}

function Entries({ groups, names, at, onAt }) {
  const list = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => list.current?.querySelector("tr.at")?.scrollIntoView({ block: "nearest" }), [at]);
  const columns = [{ text: t("Time"), kind: "wide-cell" }, t("Actor"), t("Action"), t("Object"), { text: t("IP address"), kind: "wide-cell" }];
  return html`<div ref=${list}><${Table} caption=${t("Audit log")} columns=${columns} kind="results audit">
    ${groups.map((entries, place) => {
      const [entry] = entries;
      const target = pathOf(entry);
      const object = objectText(entry, names);
      return html`<tr key=${entry.id} class=${place === at ? "at" : ""} onClick=${() => onAt(place)}>
        <td class="wide-cell"><${Moment} at=${entry.timestamp} /></td>
        <td><span class="narrow-only"><${Moment} at=${entry.timestamp} format=${shortDateTime} /></span><bdi>${actorText(entry)}</bdi></td>
        <td>${actionText(entry)}${entries.length > 1 && ` × ${number(entries.length)}`}<${Details} entries=${entries} names=${names} /></td>
        <td>${target ? html`<${Link} href=${target}><bdi>${object}</bdi></${Link}>` : html`<bdi>${object}</bdi>`}</td>
        <td class="wide-cell"><bdi>${entry.address ?? "–"}</bdi></td>
      </tr>`;
    })}
  </${Table}></div>`;
}

function Page({ query, filter }) {
  const [at, setAt] = useState(-1);
  const page = useLoad((abort) => get("/api/audit", { ...filter, limit: ROWS, lastKey: query.lastKey }, abort), [filter, query.lastKey]);
  const names = useLoad(objectNames, ["names"]).data ?? {};
  const entries = page.data?.entries ?? [];
  const groups = grouped(entries);
  useEffect(() => setAt(-1), [page.data]);
  const next = () => page.data?.nextKey && goQuery({ lastKey: page.data.nextKey, from: filter.from, page: (Number(query.page) || 1) + 1 });
  const before = () => query.lastKey && history.back();
  useKeys({
    j: () => setAt((now) => Math.min(now + 1, groups.length - 1)),
    k: () => setAt((now) => Math.max(now - 1, 0)),
    n: next,
    p: before,
    Enter: () => {
      const target = groups[at] && pathOf(groups[at][0]);
      if (target) go(target);
    },
  });
  return html`<${Fault} failure=${page.failure} retry=${page.reload} />
    ${page.isLoading && !page.data && html`<${Waiting} rows=${10} />`}
    ${page.data && entries.length === 0 && html`<${Empty} title=${t("No results")}>${t("Remove a filter or widen the time range.")}</${Empty}>`}
    ${entries.length > 0 && html`<${Count} query=${query} rows=${entries.length} size=${ROWS} isLast=${!page.data.nextKey} />
    <${Entries} groups=${groups} names=${names} at=${at} onAt=${setAt} />
    <div class="pager">
      ${query.lastKey && html`<button type="button" onClick=${() => goQuery(firstPage(query))}>${t("First page")}</button><button type="button" onClick=${before}>${t("Previous page")}</button>`}
      <button type="button" disabled=${!page.data.nextKey} onClick=${next}>${t("Next page")}</button>
      <button type="button" onClick=${() => save("audit.csv", "text/csv", exported(entries))}>${t("Export page as CSV")}</button>
    </div>`}`;
}

export function AuditPage({ query }) {
  const { action = "", actor = "", subject = "", plate = "" } = query;
  const filter = { ...useRange(query), action, actor, subject, plate };
  const isOther = action && !KINDS.some(([kind]) => kind === action);
  const kinds = [["", t("All actions")], ...KINDS.map(([kind, text]) => [kind, text()]), ...(isOther ? [[action, action]] : [])];
  return html`<${Head} title=${t("Audit log")} note=${t("Who searched, changed, exported and erased what. Entries can't be edited.")}>
      <${CopyButton} text=${location.href} label=${t("Copy link")} />
    </${Head}>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${SelectField} label=${t("Action")} value=${action} onValue=${(value) => goQuery({ ...firstPage(query), action: value }, { replace: true })} options=${kinds} />
      <${SearchField} label=${t("Actor")} query=${query} name="actor" maxlength="300" placeholder=${t("Email or API key")} />
      <${SearchField} label=${t("Plate")} query=${query} name="plate" maxlength="50" />
      <${RangeField} query=${query} /><${ClearFilters} query=${query} />
    </form>
    <${Page} query=${query} filter=${filter} />`;
}
