/** @file A camera: its status, detection area, settings and diagnostics. */

import { html, useEffect, useState } from "../html.js";
import { call, get } from "../api.js";
import { CAMERA_FIELDS, CameraFields, bodyOf, formOf } from "../camera-form.js";
import { Funnel } from "../funnel.js";
import { useAction, useLoad } from "../load.js";
import { Link, go, unsaved } from "../router.js";
import { useMay } from "../session.js";
import { signal, useSignal } from "../signal.js";
import { useStreamTest } from "../stream-test.js";
import { CameraStateBadge, Confirm, Empty, Fault, FormFault, Head, Moment, RowMenu, Waiting, toast } from "../ui.js";
import { ZoneEditor } from "../zones.js";
import { t, tn, translated } from "../words.js";

const UNSAVED = () => t("You have unsaved changes. Leave without saving?");

/** The ID of the camera that was just added on this page, or "". */
export const justAdded = signal("");

/** Why there is no video, or a warning. */
function Trouble({ camera }) {
  const isNew = useSignal(justAdded) === camera.id;
  if (!camera.lastError) return isNew && html`<p class="notice" role="status">${camera.status === "online" ? html`<strong>${t("Camera added")}</strong> · ${t("You can now draw zones.")}` : t("Saved. Connecting to the camera…")}</p>`;
  const isConnecting = camera.status === "connecting";
  const title = camera.status === "online" ? t("Warning:") : !isConnecting ? t("No video:") : isNew ? t("Saved. Still trying to connect:") : t("Still trying to connect:");
  return html`<p class=${camera.status === "offline" ? "alarm" : "warning"} role=${isNew ? "status" : undefined}><strong>${title}</strong> <bdi>${translated(camera.lastError)}</bdi></p>`;
}

function State({ camera }) {
  const facts = [
    [t("Status"), html`<${CameraStateBadge} state=${camera.status} />`],
    [t("Last frame"), camera.lastSeenAt ? html`<${Moment} at=${camera.lastSeenAt} />` : t("Never")],
    [t("Resolution"), camera.frameWidth ? `${camera.frameWidth} × ${camera.frameHeight}` : "–"],
    ...(camera.decoder && camera.decoder !== "software" ? [[t("Decoder"), camera.decoder]] : []),
    [t("Added on"), html`<${Moment} at=${camera.createdAt} />`],
  ];
  return html`<${Trouble} camera=${camera} />
    <dl class="pairs across">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Settings({ camera, onChanged }) {
  const [form, setForm] = useState(formOf(camera));
  const [zones, setZones] = useState(camera.zones);
  const [minPlateWidth, setMinPlateWidth] = useState(camera.minPlateWidth);
  const { isBusy, failure, run } = useAction();
  const test = useStreamTest();
  const mayChange = useMay("cameras:write");
  const edit = (set) => (value) => {
    if (!mayChange) return;
    unsaved.value = UNSAVED();
    set(value);
  };
  useEffect(() => () => void (unsaved.value = ""), []);
  const submit = (event) => {
    event.preventDefault();
    run(async () => {
      const answer = await call("PUT", `/api/cameras/${camera.id}`, { body: { ...bodyOf(form), zones, minPlateWidth } });
      unsaved.value = "";
      setForm(formOf(answer.camera));
      onChanged(answer.camera);
      toast(t("Saved"));
    });
  };
  return html`<form onSubmit=${submit}><fieldset disabled=${!mayChange}>
    <section class="panel"><h2>${t("Detection area")}</h2>
      <${ZoneEditor} camera=${camera} zones=${zones} minPlateWidth=${minPlateWidth} onZones=${edit(setZones)} onMinPlateWidth=${edit(setMinPlateWidth)} fault=${failure?.fault("zones") ?? failure?.fault("minPlateWidth")} />
    </section>
    <section class="panel"><h2>${t("Settings")}</h2>
      <${CameraFields} form=${form} onForm=${edit(setForm)} failure=${failure} test=${test} cameraId=${camera.id} />
    </section>
    <${FormFault} failure=${failure} shown=${CAMERA_FIELDS} /></fieldset>
    ${mayChange && html`<div class="actions sticky"><button class="main" disabled=${isBusy}>${isBusy ? t("Saving…") : t("Save changes")}</button></div>`}
  </form>`;
}

function Remove({ camera, onClose }) {
  const { isBusy, failure, run } = useAction();
  const remove = () => run(async () => {
    const { creditsRefunded } = await call("DELETE", `/api/cameras/${camera.id}`);
    unsaved.value = "";
    toast(creditsRefunded ? tn(creditsRefunded, "Camera deleted. {n} credit refunded.", "Camera deleted. {n} credits refunded.") : t("Camera deleted"));
    go("/cameras");
  });
  return html`<${Confirm} title=${t("Delete {name}?", { name: camera.name })} action=${t("Delete camera")} isBusy=${isBusy} failure=${failure} onYes=${remove} onNo=${onClose}>
    ${t("Platestream stops processing this camera. Its recognitions are not deleted.")}
  </${Confirm}>`;
}

export function CameraPage({ id }) {
  const found = useLoad((abort) => get(`/api/cameras/${encodeURIComponent(id)}`, {}, abort).then((answer) => answer.camera), [id], { everySeconds: 5 });
  const [isRemoving, setRemoving] = useState(false);
  const mayRemove = useMay("cameras:write");
  useEffect(() => () => void (justAdded.value = ""), []);
  const camera = found.data;
  if (!camera) {
    return html`<${Head} title=${t("Camera")} />
      ${found.failure?.status === 404 ? html`<${Empty} title=${t("Camera not found")}><${Link} href="/cameras">${t("Back to cameras")}</${Link}></${Empty}>` : html`<${Fault} failure=${found.failure} retry=${found.reload} />`}
      ${found.isLoading && !found.failure && html`<${Waiting} />`}`;
  }
  return html`<${Head} title=${html`<bdi>${camera.name}</bdi>`} note=${html`<bdi>${camera.location}</bdi>`}>
      <${Link} class="button" href=${`/?cameraId=${camera.id}`}>${t("View live")}</${Link}>
      <${Link} class="button" href=${`/search?cameraId=${camera.id}`}>${t("View recognitions")}</${Link}>
      ${mayRemove && html`<${RowMenu} label=${t("Actions for {name}", { name: camera.name })}><button type="button" class="danger" onClick=${() => setRemoving(true)}>${t("Delete camera")}</button></${RowMenu}>`}
    </${Head}>
    <${State} camera=${camera} />
    <${Settings} camera=${camera} onChanged=${(changed) => found.change(() => changed)} />
    <${Funnel} camera=${camera} />
    ${isRemoving && html`<${Remove} camera=${camera} onClose=${() => setRemoving(false)} />`}`;
}
