/** @file A person's correction of a recognition: the actual plate. */

import { html, useState } from "./html.js";
import { call } from "./api.js";
import { useAction } from "./load.js";
import { useMay } from "./session.js";
import { Check, Dialog, FormFault, Moment, Plate, TextField, toast } from "./ui.js";
import { t } from "./words.js";

/** The correction of a recognition as a line of text. */
export function Correction({ correction }) {
  return html`<p class="correction">${correction.plate === null ? t("Corrected: no plate in the image") : html`${t("Corrected to")} <${Plate} text=${correction.plate} />${correction.region && html` <bdi>${correction.region}</bdi>`}`}
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

/** The buttons that correct a recognition, for people who are allowed to correct. `children` is shown in the dialog above the form. */
export function CorrectionButtons({ recognition, onChanged, children }) {
  const [isOpen, setOpen] = useState(false);
  const { isBusy, failure, run } = useAction();
  const known = recognition.correction;
  const mayWrite = useMay("corrections:write");
  if (!mayWrite) return null;
  const remove = () => run(async () => {
    await call("DELETE", `/api/recognitions/${recognition.id}/correction`);
    onChanged(undefined);
    toast(t("Correction removed"));
  });
  return html`<button type="button" onClick=${() => setOpen(true)}>${known ? t("Edit correction") : t("Correct plate")}</button>
    ${known && html`<button type="button" disabled=${isBusy} onClick=${remove}>${t("Remove correction")}</button>`}
    <${FormFault} failure=${failure} />
    ${isOpen && html`<${Dialog} title=${t("Correct {plate}", { plate: recognition.plate })} onClose=${() => setOpen(false)}>
      ${children}
      <p class="note">${t("The original reading stays unchanged, and no notifications are sent again.")}</p>
      <${Form} recognition=${recognition} onChanged=${onChanged} onClose=${() => setOpen(false)} />
    </${Dialog}>`}`;
}
