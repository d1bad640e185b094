/** @file A new camera: its address is tried before it is kept, and its first picture shown. */

import { html, useEffect, useRef, useState } from "../html.js";
import { call } from "../api.js";
import { CAMERA_FIELDS, CameraFields, bodyOf, formOf } from "../camera-form.js";
import { useAction } from "../load.js";
import { Link, go, unsaved } from "../router.js";
import { FormFault, Head, tell } from "../ui.js";
import { t } from "../words.js";

const WORDS = {
  name_not_found: () => t("The name of the host is not known."),
  not_found: () => t("The host answers, but has no stream under this path."),
  refused: () => t("The host refuses the connection: is the port right, and the camera on?"),
  timed_out: () => t("Nothing answered in time: is the camera on, and can this machine reach it?"),
  unauthorized: () => t("User or password is wrong."),
  unauthorised: () => t("User or password is wrong."),
  forbidden: () => t("The address may not be used here."),
  unreadable: () => t("Something answers, but it is no stream of pictures that can be read."),
};

/** What a test of the address came to. */
function Tested({ result }) {
  if (!result) return null;
  if (!result.ok) {
    const known = WORDS[result.reason ?? result.code];
    return html`<div class="alarm" role="alert"><p>${known ? known() : t("There is no picture.")}</p>${result.message && html`<p class="hint"><bdi>${result.message}</bdi></p>`}</div>`;
  }
  const picture = result.image ?? result.picture;
  return html`<div class="tested" role="status">
    <p><strong>${t("There is a picture.")}</strong> ${result.width ? `${result.width} × ${result.height}` : ""}</p>
    ${picture && html`<${TestPicture} data=${picture} />`}
  </div>`;
}

/** A picture that came as base64; the page's policy knows no `data:`. */
function TestPicture({ data }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
    const made = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return url && html`<img class="tested-picture" src=${url} alt=${t("First picture of the camera")} />`;
}

export function NewCameraPage() {
  const [form, setForm] = useState(formOf(null));
  const [result, setResult] = useState(null);
  const test = useAction();
  const save = useAction();
  const edited = useRef(false);
  const change = (next) => {
    if (next.rtspUrl !== form.rtspUrl) setResult(null);
    edited.current = true;
    unsaved.value = t("What you typed is not saved. Leave all the same?");
    setForm(next);
  };
  useEffect(() => () => void (unsaved.value = ""), []);
  const tryAddress = () => test.run(async () => setResult(await call("POST", "/api/cameras/test", { body: { rtspUrl: form.rtspUrl.trim() } })));
  const submit = (event) => {
    event.preventDefault();
    save.run(async () => {
      const { camera } = await call("POST", "/api/cameras", { body: bodyOf(form) });
      unsaved.value = "";
      tell(t("The camera is there."));
      go(`/cameras/${camera.id}`);
    });
  };
  return html`<${Head} title=${t("New camera")} note=${t("Try the address first: its picture shows whether plates will be large enough. Zones are drawn on it afterwards.")} />
    <form class="panel" onSubmit=${submit}>
      <${FormFault} failure=${save.failure} shown=${CAMERA_FIELDS} />
      <${CameraFields} form=${form} onForm=${change} failure=${save.failure ?? test.failure} isNew />
      <${FormFault} failure=${test.failure} shown=${CAMERA_FIELDS} />
      <${Tested} result=${result} />
      <div class="actions">
        <button type="button" disabled=${!form.rtspUrl.trim() || test.isBusy} onClick=${tryAddress}>${test.isBusy ? t("Trying …") : t("Test the address")}</button>
        <button class="main" disabled=${save.isBusy}>${save.isBusy ? t("Adding …") : t("Add the camera")}</button>
        <${Link} class="button" href="/cameras">${t("Cancel")}</${Link}>
      </div>
    </form>`;
}
