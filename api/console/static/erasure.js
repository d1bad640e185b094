/** @file Erasing a plate: confirmation, progress, result, and the list of erasures. */

import { html, useState } from "./html.js";
import { call, get } from "./api.js";
import { number } from "./format.js";
import { useAction, useLoad } from "./load.js";
import { session } from "./session.js";
import { useSignal } from "./signal.js";
import { Dialog, Fault, FormFault, Moment, Plate, Table, TextField, Waiting } from "./ui.js";
import { t } from "./words.js";

/** Names of what an erasure counts. @type {Record<string, () => string>} */
export const ERASED = {
  recognitions: () => t("Recognitions"),
  images: () => t("Images"),
  imagesLeft: () => t("Images to be deleted later"),
  alertTriggers: () => t("Alert triggers with the plate removed"),
  deliveries: () => t("Deliveries with the content removed"),
  corrections: () => t("Corrections"),
  misread: () => t("Misreads corrected to this plate"),
};

/** Returns a plate without separators and accents, to compare it with typed text. @param {string} text */
const normalised = (text) => text.normalize("NFKD").toUpperCase().replace(/[^\p{L}\p{N}]/gu, "");

function Ask({ plate, onAsked, onClose }) {
  const [typed, setTyped] = useState("");
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(async () => onAsked((await call("POST", "/api/erasures", { body: { plate } })).erasure));
  };
  return html`<form onSubmit=${submit}>
    <p>${t("This permanently deletes every recognition of this plate so far, with its images, from all cameras of this account. The plate is also removed from alert triggers and deliveries. This can't be undone.")}</p>
    <${TextField} label=${t("Type the plate to confirm")} autocomplete="off" spellcheck=${false} value=${typed} onValue=${setTyped} fault=${failure?.fault("plate")} />
    <${FormFault} failure=${failure} shown=${["plate"]} />
    <div class="actions"><button class="danger" disabled=${isBusy || normalised(typed) !== normalised(plate)}>${t("Erase plate")}</button><button type="button" onClick=${onClose}>${t("Cancel")}</button></div>
  </form>`;
}

function Progress({ asked, onClose }) {
  const found = useLoad((abort) => get(`/api/erasures/${asked.id}`, {}, abort).then((answer) => answer.erasure), [asked.id], { everySeconds: 2 });
  const job = found.data ?? asked;
  return html`<${Fault} failure=${found.failure} retry=${found.reload} />
    <p role="status">${{ waiting: () => t("Waiting to start."), running: () => t("Erasing. This can take a few minutes; you can close this window."), done: () => t("Plate erased.") }[job.state]?.()}</p>
    ${job.error && html`<p class="alarm">${t("Not erased yet: something went wrong. Retrying automatically.")}</p>`}
    ${job.counts && html`<dl class="pairs">${Object.entries(ERASED).filter(([name]) => job.counts[name]).map(([name, text]) => html`<div key=${name}><dt>${text()}</dt><dd>${number(job.counts[name])}</dd></div>`)}</dl>`}
    <div class="actions"><button type="button" class="main" onClick=${onClose}>${t("Close")}</button></div>`;
}

const STATES = { waiting: () => t("Queued"), running: () => t("Erasing"), done: () => t("Erased") };

/** Returns what was erased as text. @param {Record<string, number>} counts */
const countsText = (counts) => Object.entries(ERASED).filter(([name]) => counts[name]).map(([name, text]) => `${text()}: ${number(counts[name])}`).join(", ");

/** The account's erasures, for people who can erase plates. */
export function Erasures() {
  const found = useLoad((abort) => get("/api/erasures", { limit: 50 }, abort), ["erasures"]);
  if (found.data?.erasures.length === 0) return null;
  return html`<section class="panel"><h2>${t("Privacy")}</h2>
    <${Fault} failure=${found.failure} retry=${found.reload} />
    ${!found.data && found.isLoading && html`<${Waiting} rows=${3} />`}
    ${found.data && html`<p class="note">${t("The 50 most recent from the last 90 days. Only the first and last character of each plate are stored.")}</p>
      <${Table} caption=${t("Erasures")} columns=${[t("Time"), t("Plate"), t("Status"), t("Requested by")]}>
        ${found.data.erasures.map((one) => html`<tr key=${one.id}><td><${Moment} at=${one.requestedAt} /></td><td><${Plate} text=${one.plate} /></td>
          <td>${STATES[one.state]?.() ?? one.state}${one.counts && html`<div class="note">${countsText(one.counts)}</div>`}${one.error && html`<div class="note">${t("Not erased yet: something went wrong. Retrying automatically.")}</div>`}</td><td><bdi>${one.requestedBy}</bdi></td></tr>`)}
      </${Table}>`}
  </section>`;
}

/** The form that erases a plate, at the foot of a page, for people who are allowed to. @param {{plate: string, onErased: () => void}} props */
export function ErasePlate({ plate, onErased }) {
  const [isOpen, setOpen] = useState(false);
  const [asked, setAsked] = useState(/** @type {{id: string, state: string} | null} */ (null));
  const who = useSignal(session);
  if (!who?.scopes?.includes("erasures:write")) return null;
  const close = () => {
    setOpen(false);
    if (asked) onErased();
    setAsked(null);
  };
  return html`<details class="foot"><summary>${t("More actions")}</summary><button type="button" class="danger" onClick=${() => setOpen(true)}>${t("Erase plate")}</button></details>
    ${isOpen && html`<${Dialog} title=${t("Erase plate {plate}?", { plate })} onClose=${close}>
      ${asked ? html`<${Progress} asked=${asked} onClose=${close} />` : html`<${Ask} plate=${plate} onAsked=${setAsked} onClose=${close} />`}
    </${Dialog}>`}`;
}
