/** @file Import of many cameras from a CSV file. */

import { html, useEffect, useRef, useState } from "../html.js";
import { Failure, call } from "../api.js";
import { EncodingField, SkippedRows, readCsv } from "../imports.js";
import { Link } from "../router.js";
import { Badge, Field, Head, Table } from "../ui.js";
import { t, tn } from "../words.js";

const COLUMNS = ["name", "rtspUrl", "username", "password", "location", "identifier", "sampleFps", "minPlateWidth", "timezone", "enabled"];
const EXAMPLE = "name,rtspUrl,username,password,location\nGate north,rtsp://192.168.1.20/1,viewer,secret,Yard\n";
const TRIES = 20;
const TYPING_MS = 400;
/** @type {{cameras: {line: number, camera: any}[], skipped: import("../imports.js").SkippedRow[]}} */
const NOTHING = { cameras: [], skipped: [] };

/**
 * Returns what the API reads in a file, or in typed text once the text stops changing.
 * @param {Blob | string} source
 * @param {string} encoding of a file
 */
function useCamerasIn(source, encoding) {
  const [state, setState] = useState({ found: NOTHING, fault: "" });
  useEffect(() => {
    const abort = new AbortController();
    setState({ found: NOTHING, fault: "" });
    const read = async () => {
      try {
        setState({ found: await readCsv("/api/cameras/import", new Blob([source]), { signal: abort.signal, encoding: typeof source === "string" ? "" : encoding }), fault: "" });
      } catch (error) {
        if (abort.signal.aborted) return;
        if (!(error instanceof Failure)) throw error;
        setState({ found: NOTHING, fault: error.message });
      }
    };
    const timer = source ? setTimeout(read, typeof source === "string" ? TYPING_MS : 0) : 0;
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [source, encoding]);
  return state;
}

/** Adds a camera. Waits if a rate limit requires it. @param {any} body */
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
  const [source, setSource] = useState(/** @type {Blob | string} */ (""));
  const [results, setResults] = useState(/** @type {Record<number, {id?: string, fault?: string}>} */ ({}));
  const [isBusy, setBusy] = useState(false);
  const isStopped = useRef(false);
  const [encoding, setEncoding] = useState("");
  const { found, fault } = useCamerasIn(source, encoding);
  const rows = found.cameras;
  const change = (value) => {
    setSource(value);
    setResults({});
  };
  const read = (event) => change(event.currentTarget.files[0] ?? "");
  const start = async () => {
    setBusy(true);
    isStopped.current = false;
    for (const [at, row] of rows.entries()) {
      if (isStopped.current || results[at]?.id) continue;
      let result;
      try {
        result = { id: (await add(row.camera)).camera.id };
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        result = { fault: [error.fields.length ? "" : error.message, ...error.fields.map((field) => `${field.path}: ${field.message}`)].filter(Boolean).join("; ") };
      }
      setResults((before) => ({ ...before, [at]: result }));
    }
    setBusy(false);
  };
  const added = Object.values(results).filter((one) => one.id).length;
  return html`<${Head} title=${t("Import cameras")} note=${t("One camera per line; the first line holds the column names. If you run the import again, lines already added are skipped.")} />
    <div class="panel">
      <${Field} wide label=${t("CSV file")}>${(ids) => html`<input ...${ids} type="file" accept=".csv,text/csv,text/plain" onChange=${read} />`}</${Field}>
      <${EncodingField} value=${encoding} onValue=${setEncoding} />
      <${Field} wide label=${t("Or paste CSV")} fault=${fault} hint=${t("Columns: {names}. name and rtspUrl are required; username and password are those of the camera.", { names: COLUMNS.join(", ") })}>
        ${(ids) => html`<textarea ...${ids} rows="8" spellcheck=${false} placeholder=${EXAMPLE} value=${typeof source === "string" ? source : ""} onInput=${(event) => change(event.currentTarget.value)}></textarea>`}
      </${Field}>
      <div class="actions">
        <button type="button" class="main" disabled=${!rows.length || isBusy || added === rows.length} onClick=${start}>${tn(rows.length - added, "Add {n} camera", "Add {n} cameras")}</button>
        ${isBusy && html`<button type="button" onClick=${() => (isStopped.current = true)}>${t("Stop import")}</button>`}
        <${Link} class="button" href="/cameras">${t("Back to cameras")}</${Link}>
      </div>
      <${SkippedRows} skipped=${found.skipped} count=${found.skipped.length} />
      <p role="status">${added > 0 && tn(added, "{n} camera added", "{n} cameras added")}</p>
      ${rows.length > 0 && html`<${Table} caption=${t("Cameras in this file")} columns=${[t("Line"), t("Name"), t("Stream URL"), t("Result")]}>
        ${rows.map((row, at) => html`<tr key=${at}><td class="number">${row.line}</td><td><bdi>${row.camera.name}</bdi></td><td><code class="long">${row.camera.rtspUrl.replace(/:[^:@/]+@/, ":***@")}</code></td>
          <td>${results[at]?.id && html`<${Badge} kind="good">${t("Added")}</${Badge}> <${Link} href=${`/cameras/${results[at].id}`}>${t("Open camera")}</${Link}>`}${results[at]?.fault && html`<${Badge} kind="bad">${t("Not added")}</${Badge}> <bdi>${results[at].fault}</bdi>`}</td></tr>`)}
      </${Table}>`}
    </div>`;
}
