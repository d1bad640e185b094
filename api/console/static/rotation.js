/** @file Rotation of a signing secret, with an overlap. */

import { html, useState } from "./html.js";
import { call } from "./api.js";
import { useAction } from "./load.js";
import { FormFault, Moment, SelectField, toast } from "./ui.js";
import { t } from "./words.js";

/** @param {{path: string, until: string | null, onRotated: (answer: any) => void}} given `until`: end of the last overlap */
export function Rotation({ path, until, onRotated }) {
  const [hours, setHours] = useState("24");
  const { isBusy, failure, run } = useAction();
  const rotate = () => run(async () => {
    onRotated(await call("POST", path, { body: { overlapHours: Number(hours) } }));
    toast(t("Secret rotated"));
  });
  return html`${until && html`<p class="note">${t("Requests are also signed with the previous secret until")} <${Moment} at=${until} /></p>`}
    <div class="actions"><${SelectField} label=${t("Also sign with the previous secret for")} value=${hours} onValue=${setHours} options=${[["0", t("Not at all")], ["1", t("1 hour")], ["24", t("24 hours")], ["168", t("7 days")]]} /><button type="button" disabled=${isBusy} onClick=${rotate}>${t("Rotate secret")}</button></div>
    <${FormFault} failure=${failure} />`;
}
