/** @file The test of a camera's stream. */

import { html, useCallback, useEffect, useState } from "./html.js";
import { call } from "./api.js";
import { useAction } from "./load.js";
import { FormFault } from "./ui.js";
import { locale, t, translated } from "./words.js";

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
  if (!result.reachable) return html`<p class="alarm" role="alert">${translated(result.error)}</p>`;
  const seconds = result.keyFrameSeconds ?? null;
  return html`<div class="tested" role="status">
    <p><strong>${t("Video received.")}</strong> ${result.frameWidth} × ${result.frameHeight}.${" "}
      ${seconds !== 0 && (seconds === null ? t("No second key frame within 5 s. Set the camera's key frame interval to 1 or 2 s.") : t("Seconds between key frames: {n}.", { n: seconds.toLocaleString(locale()) }))}</p>
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
