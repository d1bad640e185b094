/** @file A new camera: its stream can be tested before the camera is saved, and a frame is shown. */

import { html, useEffect, useState } from "../html.js";
import { call } from "../api.js";
import { CAMERA_FIELDS, CameraFields, STREAM_FIELDS, bodyOf, formOf } from "../camera-form.js";
import { CameraSearch } from "../camera-search.js";
import { useAction } from "../load.js";
import { Link, go, unsaved } from "../router.js";
import { useStreamTest } from "../stream-test.js";
import { FormFault, Head } from "../ui.js";
import { t } from "../words.js";
import { justAdded } from "./camera.js";

export function NewCameraPage() {
  const [form, setForm] = useState(formOf(null));
  const test = useStreamTest();
  const save = useAction();
  const change = (next) => {
    if (STREAM_FIELDS.some((name) => next[name] !== form[name])) save.clear();
    unsaved.value = t("You have unsaved changes. Leave without saving?");
    setForm(next);
  };
  const choose = (/** @type {string} */ name, /** @type {import("../stream-test.js").StreamToTest} */ stream) => {
    change({ ...form, ...stream, name: form.name || name });
    test.start(stream);
  };
  useEffect(() => () => void (unsaved.value = ""), []);
  const submit = (event) => {
    event.preventDefault();
    save.run(async () => {
      const { camera } = await call("POST", "/api/cameras", { body: bodyOf(form) });
      unsaved.value = "";
      justAdded.value = camera.id;
      go(`/cameras/${camera.id}`);
    });
  };
  return html`<${Head} title=${t("Add camera")} note=${t("Test the stream first: the frame shows whether plates are large enough. You can draw zones once the camera is added.")} />
    <${CameraSearch} onStream=${choose} />
    <form class="panel" onSubmit=${submit}>
      <${FormFault} failure=${save.failure} shown=${CAMERA_FIELDS} />
      <${CameraFields} form=${form} onForm=${change} failure=${save.failure} test=${test} />
      <div class="actions">
        <button class="main" disabled=${save.isBusy}>${save.isBusy ? t("Adding…") : t("Add camera")}</button>
        <${Link} class="button" href="/cameras">${t("Cancel")}</${Link}>
      </div>
    </form>`;
}
