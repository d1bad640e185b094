/** @file The search for ONVIF cameras: choose a camera, enter its password, choose a stream. */

import { html, useState } from "./html.js";
import { call } from "./api.js";
import { useAction } from "./load.js";
import { FormFault, SelectField, Table, TextField } from "./ui.js";
import { t, translated } from "./words.js";

const LOGIN = { spellcheck: false, autocomplete: "off", maxlength: "100" };

/** The name of a stream, with its codec and size. @param {any} stream */
const labelOf = ({ name, codec, frameWidth, frameHeight }) => [name, codec, frameWidth && `${frameWidth} × ${frameHeight}`].filter(Boolean).join(" · ");

/** The error of an answer from a device. */
function DeviceFault({ answer }) {
  return answer?.error && html`<div class="alarm" role="alert"><p>${translated(answer.error)}</p></div>`;
}

/** The login to a camera, and then its streams. */
function Streams({ device, onStream }) {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [chosen, setChosen] = useState("");
  const { isBusy, failure, run } = useAction();
  const streams = answer?.streams ?? [];
  const choose = (stream) => {
    setChosen(stream.rtspUrl);
    onStream(device.name, { rtspUrl: stream.rtspUrl, username, password });
  };
  const submit = (event) => {
    event.preventDefault();
    run(async () => {
      setAnswer(null);
      const found = await call("POST", "/api/cameras/discover/streams", { body: { deviceUrl: device.deviceUrl, username, password } });
      setAnswer(found);
      if (found.streams.length) choose(found.streams[0]);
    });
  };
  return html`<form class="fields" onSubmit=${submit}>
    <${TextField} ...${LOGIN} label=${t("Camera username")} value=${username} onValue=${setUsername} fault=${failure?.fault("username")} />
    <${TextField} ...${LOGIN} label=${t("Camera password")} type="password" autocomplete="new-password" value=${password} onValue=${setPassword} fault=${failure?.fault("password")} />
    <div class="field end"><button class="main" disabled=${isBusy}>${isBusy ? t("Connecting") : t("Show streams")}</button></div>
    ${streams.length > 1 && html`<${SelectField} wide label=${t("Stream")} value=${chosen} onValue=${(url) => choose(streams.find(({ rtspUrl }) => rtspUrl === url))} options=${streams.map((one) => [one.rtspUrl, labelOf(one)])} />`}
    ${(failure || answer?.error) && html`<div class="wide"><${FormFault} failure=${failure} shown=${["username", "password"]} /><${DeviceFault} answer=${answer} /></div>`}
  </form>`;
}

/** The search. @param {{onStream: (name: string, stream: import("./stream-test.js").StreamToTest) => void}} props */
export function CameraSearch({ onStream }) {
  const [address, setAddress] = useState("");
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [chosen, setChosen] = useState(/** @type {any} */ (null));
  const { isBusy, failure, run } = useAction();
  const search = (event) => {
    event.preventDefault();
    run(async () => {
      setAnswer(null);
      setChosen(null);
      setAnswer(await call("POST", "/api/cameras/discover", { body: { address: address.trim() } }));
    });
  };
  const devices = answer?.devices ?? [];
  return html`<section class="panel" aria-label=${t("Find cameras")}>
    <form class="with-button" onSubmit=${search}>
      <${TextField} label=${t("Camera host (optional)")} maxlength="300" spellcheck=${false} autocomplete="off" placeholder="192.168.1.20" value=${address} onValue=${setAddress} fault=${failure?.fault("address")}
        hint=${t("Leave empty to find the ONVIF cameras in the server's own network.")} />
      <button disabled=${isBusy}>${isBusy ? t("Searching…") : t("Find cameras")}</button>
    </form>
    <${FormFault} failure=${failure} shown=${["address"]} /><${DeviceFault} answer=${answer} />
    ${answer && !answer.error && !devices.length && html`<p role="status">${t("No cameras found. Enable ONVIF in the camera, or enter its host.")}</p>`}
    ${devices.length > 0 && html`<${Table} caption=${t("Cameras found")} columns=${[t("Name"), t("Model"), t("Address"), { text: t("Actions"), isHidden: true }]}>
      ${devices.map((device) => html`<tr key=${device.deviceUrl}><td><bdi>${device.name}</bdi></td><td><bdi>${device.model}</bdi></td><td><bdi>${device.address}</bdi></td>
        <td><button type="button" aria-label=${t("Choose {camera}", { camera: device.name || device.address })} aria-pressed=${device === chosen ? "true" : "false"} onClick=${() => setChosen(device)}>${t("Choose")}</button></td></tr>`)}
    </${Table}>`}
    ${chosen && html`<${Streams} key=${chosen.deviceUrl} device=${chosen} onStream=${onStream} />`}
  </section>`;
}
