/** @file Many cameras at once, from a table of comma-separated values. */

import { html, useRef, useState } from "../html.js";
import { Failure, call } from "../api.js";
import { readCsv } from "../csv.js";
import { Link } from "../router.js";
import { Badge, Field, Head, Table } from "../ui.js";
import { t, tn } from "../words.js";

const COLUMNS = ["name", "rtspUrl", "location", "identifier", "sampleFps", "minPlateWidth", "timezone", "enabled", "motionUrl"];
const NEEDED = ["name", "rtspUrl"];
const EXAMPLE = "name,rtspUrl,location,minPlateWidth\nGate north,rtsp://viewer:secret@192.168.1.20/1,Yard,60\n";
const TRIES = 20;

/** @param {string} text @returns {{rows: Record<string, string>[], fault: string}} */
function parsed(text) {
  const [head, ...rows] = readCsv(text);
  if (!head) return { rows: [], fault: "" };
  const byName = new Map(COLUMNS.map((name) => [name.toLowerCase(), name]));
  const names = head.map((name) => byName.get(name.toLowerCase()) ?? "");
  const lacking = NEEDED.filter((name) => !names.includes(name));
  if (lacking.length) return { rows: [], fault: t("The first line must name the columns; {names} is not there.", { names: lacking.join(", ") }) };
  const unknown = head.filter((_, at) => !names[at]);
  if (unknown.length) return { rows: [], fault: t("There is no column {names}.", { names: unknown.join(", ") }) };
  return { rows: rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at] ?? ""]))), fault: "" };
}

/** @param {Record<string, string>} row */
function bodyOf(row) {
  const body = /** @type {Record<string, any>} */ ({});
  for (const [name, text] of Object.entries(row)) {
    if (text === "" && !NEEDED.includes(name)) continue;
    if (name === "sampleFps" || name === "minPlateWidth") body[name] = Number(text.replace(",", "."));
    else if (name === "enabled") body[name] = !/^(0|no|não|nao|false|off)$/i.test(text);
    else body[name] = text;
  }
  return body;
}

/** Adds a camera, waiting where the limit of requests says so. @param {any} body */
async function add(body) {
  for (let tries = 1; ; tries++) {
    try {
      return await call("POST", "/api/cameras", { body });
    } catch (error) {
      if (!(error instanceof Failure) || error.status !== 429 || tries === TRIES) throw error;
      await new Promise((go) => setTimeout(go, (error.retryAfter || 1) * 1000));
    }
  }
}

export function CameraImportPage() {
  const [text, setText] = useState("");
  const [results, setResults] = useState(/** @type {Record<number, {id?: string, fault?: string}>} */ ({}));
  const [isBusy, setBusy] = useState(false);
  const isStopped = useRef(false);
  const { rows, fault } = parsed(text);
  const change = (value) => {
    setText(value);
    setResults({});
  };
  const read = async (event) => {
    const file = event.currentTarget.files[0];
    if (file) change(await file.text());
  };
  const start = async () => {
    setBusy(true);
    isStopped.current = false;
    for (const [at, row] of rows.entries()) {
      if (isStopped.current || results[at]?.id) continue;
      let result;
      try {
        result = { id: (await add(bodyOf(row))).camera.id };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        result = { fault: [error.fields.length ? "" : error.message, ...error.fields.map((field) => `${field.path} ${field.message}`)].filter(Boolean).join("; ") };
      }
      setResults((before) => ({ ...before, [at]: result }));
    }
    setBusy(false);
  };
  const made = Object.values(results).filter((one) => one.id).length;
  return html`<${Head} title=${t("Import cameras")} note=${t("One line a camera; the first line names the columns. Lines that were added are left aside when it is started again.")} />
    <div class="panel">
      <${Field} wide label=${t("CSV file")}>${(ids) => html`<input ...${ids} type="file" accept=".csv,text/csv,text/plain" onChange=${read} />`}</${Field}>
      <${Field} wide label=${t("Or its text")} fault=${fault} hint=${t("Columns: {names}. name and rtspUrl are needed.", { names: COLUMNS.join(", ") })}>
        ${(ids) => html`<textarea ...${ids} rows="8" spellcheck=${false} placeholder=${EXAMPLE} value=${text} onInput=${(event) => change(event.currentTarget.value)}></textarea>`}
      </${Field}>
      <div class="actions">
        <button type="button" class="main" disabled=${!rows.length || isBusy || made === rows.length} onClick=${start}>${tn(rows.length - made, "Add {n} camera", "Add {n} cameras")}</button>
        ${isBusy && html`<button type="button" onClick=${() => (isStopped.current = true)}>${t("Stop")}</button>`}
        <${Link} class="button" href="/cameras">${t("To all cameras")}</${Link}>
      </div>
      <p role="status">${made > 0 && tn(made, "{n} camera was added.", "{n} cameras were added.")}</p>
      ${rows.length > 0 && html`<${Table} caption=${t("Cameras of the file")} columns=${[t("Line"), t("Name"), t("Address"), t("Outcome")]}>
        ${rows.map((row, at) => html`<tr key=${at}><td class="number">${at + 2}</td><td><bdi>${row.name}</bdi></td><td><code class="long">${row.rtspUrl.replace(/:[^:@/]+@/, ":***@")}</code></td>
          <td>${results[at]?.id && html`<${Badge} kind="good">${t("added")}</${Badge}> <${Link} href=${`/cameras/${results[at].id}`}>${t("open")}</${Link}>`}${results[at]?.fault && html`<${Badge} kind="bad">${t("not added")}</${Badge}> <bdi>${results[at].fault}</bdi>`}</td></tr>`)}
      </${Table}>`}
    </div>`;
}
