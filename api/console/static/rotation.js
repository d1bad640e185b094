/** @file A signing secret: hidden until it is shown, copied, and rotated with an overlap. */

import { html, useState } from "./html.js";
import { call } from "./api.js";
import { useAction } from "./load.js";
import { CopyButton, FormFault, Moment, SelectField, toast } from "./ui.js";
import { t } from "./words.js";

/** @param {{path: string, until: string | null, onRotated: (answer: any) => void}} given `until`: end of the last overlap */
function Rotation({ path, until, onRotated }) {
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

/** @param {{title: string, note: string, secret: string, mayRotate?: boolean, path: string, until: string | null, onRotated: (answer: any) => void}} props `path`: rotates it */
export function SigningSecret({ title, note, secret, mayRotate = true, ...rotation }) {
  const [isShown, setShown] = useState(false);
  return html`<section class="panel"><h2>${title}</h2>
    <p class="note">${note}</p>
    <p class="secret"><code>${isShown ? secret : "•".repeat(24)}</code></p>
    <div class="actions"><button type="button" aria-pressed=${isShown ? "true" : "false"} onClick=${() => setShown(!isShown)}>${isShown ? t("Hide secret") : t("Show secret")}</button><${CopyButton} text=${secret} label=${t("Copy secret")} /></div>
    ${mayRotate && html`<${Rotation} ...${rotation} />`}
  </section>`;
}
