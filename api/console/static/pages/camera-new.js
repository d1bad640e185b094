/** @file A new camera: its stream is tested before the camera is saved, and a frame is shown. */

import { html, useEffect, useRef, useState } from "../html.js";
import { call } from "../api.js";
import { CAMERA_FIELDS, CameraFields, bodyOf, formOf } from "../camera-form.js";
import { useAction } from "../load.js";
import { Link, go, unsaved } from "../router.js";
import { FormFault, Head, toast } from "../ui.js";
import { t } from "../words.js";

/** @type {Record<string, () => string>} */
const WORDS = {
  unreachable: () => t("No response from this address. Check that the camera is on, the port is right and this server can reach it."),
  credentials: () => t("Wrong username or password."),
  no_stream: () => t("The host responded, but has no stream at this path. Check the path."),
  not_video: () => t("The address responded, but not with a video stream that can be decoded."),
  silent: () => t("The camera responded, but sent no video in time. Try again."),
  certificate: () => t("The camera's certificate couldn't be verified."),
  undecodable: () => t("The camera's video can't be decoded. Check its codec."),
  ended: () => t("The camera closed the stream. Try again."),
  forbidden: () => t("Cameras aren't allowed in this network. Ask your server administrator."),
};

/** The result of a stream test. */
function TestResult({ result }) {
  if (!result) return null;
  if (!result.reachable) {
    const known = WORDS[result.code]?.();
    return html`<div class="alarm" role="alert"><p>${known ?? t("No video received.")}</p>${!known && html`<p class="hint"><bdi>${result.error}</bdi></p>`}</div>`;
  }
  return html`<div class="tested" role="status">
    <p><strong>${t("Video received.")}</strong> ${result.frameWidth} × ${result.frameHeight}</p>
    ${result.picture && html`<${TestImage} data=${result.picture} />`}
  </div>`;
}

/** An image that arrives as base64. The page's policy does not allow `data:` URLs. */
function TestImage({ data }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
    const made = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return url && html`<img class="tested-image" src=${url} alt=${t("Test frame from the camera")} />`;
}

export function NewCameraPage() {
  const [form, setForm] = useState(formOf(null));
  const [result, setResult] = useState(/** @type {any} */ (null));
  const test = useAction();
  const save = useAction();
  const edited = useRef(false);
  const change = (next) => {
    if (next.rtspUrl !== form.rtspUrl) setResult(null);
    edited.current = true;
    unsaved.value = t("You have unsaved changes. Leave without saving?");
    setForm(next);
  };
  useEffect(() => () => void (unsaved.value = ""), []);
  const testStream = () => {
    save.clear();
    test.run(async () => setResult((await call("POST", "/api/cameras/test", { body: { rtspUrl: form.rtspUrl.trim() } })).test));
  };
  const submit = (event) => {
    event.preventDefault();
    save.run(async () => {
      const { camera } = await call("POST", "/api/cameras", { body: bodyOf(form) });
      unsaved.value = "";
      toast(t("Camera added"));
      go(`/cameras/${camera.id}`);
    });
  };
  return html`<${Head} title=${t("Add camera")} note=${t("Test the stream first: the frame shows whether plates are large enough. You can draw zones once the camera is added.")} />
    <form class="panel" onSubmit=${submit}>
      <${FormFault} failure=${save.failure} shown=${CAMERA_FIELDS} />
      <${CameraFields} form=${form} onForm=${change} failure=${save.failure ?? test.failure} isNew />
      <${FormFault} failure=${test.failure} shown=${CAMERA_FIELDS} />
      <${TestResult} result=${result} />
      <div class="actions">
        <button type="button" disabled=${!form.rtspUrl.trim() || test.isBusy} onClick=${testStream}>${test.isBusy ? t("Testing…") : t("Test stream")}</button>
        <button class="main" disabled=${save.isBusy}>${save.isBusy ? t("Adding…") : t("Add camera")}</button>
        <${Link} class="button" href="/cameras">${t("Cancel")}</${Link}>
      </div>
    </form>`;
}
