/** @file A person's correction of a recognition: the actual plate. */

import { html, useState } from "./html.js";
import { call } from "./api.js";
import { useAction } from "./load.js";
import { useMay } from "./session.js";
import { Check, FormFault, Moment, Plate, TextField, toast } from "./ui.js";
import { t } from "./words.js";

function Written({ correction }) {
  return html`<p>${correction.plate === null ? t("No plate in the image") : html`<${Plate} text=${correction.plate} />${correction.region && html` <bdi>${correction.region}</bdi>`}`}
    <span class="note"> <bdi>${correction.correctedBy}</bdi>, <${Moment} at=${correction.correctedAt} /></span></p>`;
}

function Form({ recognition, onChanged, onClose }) {
  const known = recognition.correction;
  const [plate, setPlate] = useState(known?.plate ?? recognition.plate);
  const [region, setRegion] = useState(known?.region ?? "");
  const [isNone, setNone] = useState(known?.plate === null);
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    const body = isNone ? { plate: null } : { plate, region: region || null };
    run(async () => {
      const answer = await call("PUT", `/api/recognitions/${recognition.id}/correction`, { body });
      onChanged(answer.correction);
      toast(t("Correction saved"));
      onClose();
    });
  };
  return html`<form onSubmit=${submit}>
    <${Check} label=${t("No plate in the image")} checked=${isNone} onValue=${setNone} />
    ${!isNone && html`<${TextField} label=${t("Actual plate")} required maxlength="64" autocomplete="off" spellcheck=${false} value=${plate} onValue=${setPlate} fault=${failure?.fault("plate")} />
    <${TextField} label=${t("Country or region (optional)")} maxlength="40" value=${region} onValue=${setRegion} fault=${failure?.fault("region")} />`}
    <${FormFault} failure=${failure} shown=${["plate", "region"]} />
    <div class="actions"><button class="main" disabled=${isBusy}>${t("Save correction")}</button><button type="button" onClick=${onClose}>${t("Cancel")}</button></div>
  </form>`;
}

/** The correction of a recognition, and its form for people who can write one. */
export function CorrectionPanel({ recognition, onChanged }) {
  const [isOpen, setOpen] = useState(false);
  const { isBusy, failure, run } = useAction();
  const known = recognition.correction;
  const mayWrite = useMay("corrections:write");
  if (!known && !mayWrite) return null;
  const remove = () => run(async () => {
    await call("DELETE", `/api/recognitions/${recognition.id}/correction`);
    onChanged(undefined);
    toast(t("Correction removed"));
  });
  return html`<section><h2>${t("Manual correction")}</h2>
    ${known && html`<${Written} correction=${known} />`}
    ${isOpen && html`<${Form} recognition=${recognition} onChanged=${onChanged} onClose=${() => setOpen(false)} />`}
    ${!isOpen && mayWrite && html`<p class="note">${t("The original reading stays unchanged, and no notifications are sent again.")}</p>
    <${FormFault} failure=${failure} />
    <div class="actions"><button type="button" onClick=${() => setOpen(true)}>${known ? t("Edit correction") : t("Correct plate")}</button>
      ${known && html`<button type="button" disabled=${isBusy} onClick=${remove}>${t("Remove correction")}</button>`}</div>`}
  </section>`;
}
