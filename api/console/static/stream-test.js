/** @file The test of a camera's stream, and what to do about each way in which it fails. */

import { html, useCallback, useEffect, useState } from "./html.js";
import { call } from "./api.js";
import { useAction } from "./load.js";
import { FormFault } from "./ui.js";
import { t } from "./words.js";

/**
 * The sentence in a camera's `lastError` (ingest/errors.py) and its explanation, by the code of a test.
 * @type {Record<string, [string, () => string]>}
 */
const CAUSES = {
  unreachable: ["The camera could not be reached.", () => t("No response from this address. Check that the camera is on, the port is right and this server can reach it.")],
  certificate: ["The camera's certificate could not be verified.", () => t("The camera's certificate couldn't be verified.")],
  credentials: ["The camera rejected the user name or password.", () => t("Wrong username or password.")],
  no_stream: ["The camera has no stream at this path.", () => t("The host responded, but has no stream at this path. Check the path.")],
  not_video: ["The URL responded, but not with a video stream.", () => t("The address responded, but not with a video stream that can be decoded.")],
  undecodable: ["The camera's video could not be decoded.", () => t("The camera's video can't be decoded. Check its codec.")],
  too_large: ["The camera's frames exceed 40 megapixels or 10,000 pixels per side.", () => t("The camera's frames are too large. Lower its resolution.")],
  too_much: ["The camera sent too much data without a complete frame.", () => t("The camera sent too much data without a complete frame. Check its codec.")],
  silent: ["The camera sends no frames.", () => t("The camera responded, but sent no video in time. Try again.")],
  ended: ["The camera ended the stream.", () => t("The camera closed the stream. Try again.")],
  forbidden: ["The stream URL points to a network in which cameras are not allowed.", () => t("Cameras aren't allowed in this network. Ask your server administrator.")],
  no_file: ["No such video file in the camera files folder.", () => t("There is no such video file in the server's folder for camera files.")],
  secret_key: ["The stream URL was encrypted with a different secret key.", () => t("The saved stream URL can't be decrypted, because the server's secret key has changed. Enter the URL again.")],
  crash: ["The camera's stream crashes the decoder. It is retried at increasing intervals.", () => t("This stream crashes the decoder. Retrying at growing intervals. Try another codec.")],
  not_onvif: ["The device returned no ONVIF video streams.", () => t("This device doesn't answer like an ONVIF camera. Check that ONVIF is enabled in its settings.")],
  internal: ["The stream could not be read.", () => t("The stream couldn't be read. Try again.")],
};

/** Returns the explanation of a camera's `lastError`, as in a test. @param {string} error */
export function causeOf(error) {
  return Object.values(CAUSES).find(([sentence]) => sentence === error)?.[1]() ?? error;
}

/** A stream, and the camera whose password replaces *** in its URL. @typedef {{rtspUrl: string, username: string, password: string, cameraId?: string}} StreamToTest */

/** A test of a stream, its result and failure. `start` takes the request body. */
export function useStreamTest() {
  const [result, setResult] = useState(/** @type {any} */ (null));
  const { isBusy, failure, run, clear } = useAction();
  const start = (/** @type {StreamToTest} */ body) => run(async () => {
    setResult(null);
    setResult((await call("POST", "/api/cameras/test", { body })).test);
  });
  const reset = useCallback(() => {
    setResult(null);
    clear();
  }, []);
  return { isBusy, failure, result, start, reset };
}

/** The button of a test. @param {{test: ReturnType<typeof useStreamTest>, body: StreamToTest}} props */
export function StreamTestButton({ test, body }) {
  return html`<button type="button" disabled=${test.isBusy} onClick=${() => test.start(body)}>${test.isBusy ? t("Testing…") : t("Test stream")}</button>`;
}

/** The result of a test. @param {{test: ReturnType<typeof useStreamTest>, shown?: string[]}} props `shown`: fields with their own errors */
export function StreamTestResult({ test, shown = [] }) {
  const { result, failure } = test;
  if (failure) return failure.fields.length && failure.fields.every((field) => shown.includes(field.path)) ? null : html`<${FormFault} failure=${failure} shown=${shown} />`;
  if (!result) return null;
  if (!result.reachable) {
    const known = CAUSES[result.code]?.[1]();
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
