/** @file The account's cameras and webhooks, and, for server administrators, the status of the installation. */

import { html, useEffect, useState } from "../html.js";
import { Failure, get } from "../api.js";
import { useCameras } from "../filters.js";
import { ago, number, percent } from "../format.js";
import { isKnown, useLoad } from "../load.js";
import { Link } from "../router.js";
import { ADMINISTRATOR, useMay } from "../session.js";
import { Badge, CameraStateBadge, Empty, Fault, Head, Table, Waiting } from "../ui.js";
import { t, tn } from "../words.js";

const COMPONENTS = {
  postgres: [() => t("Configuration database (PostgreSQL)"), () => t("Accounts, API keys, cameras, alerts, webhooks, credits")],
  clickhouse: [() => t("Search database (ClickHouse)"), () => t("Search, analytics, deliveries")],
  s3: [() => t("Image store (S3)"), () => t("Photos, crops, snapshots")],
  kafka: [() => t("Message broker (Kafka)"), () => t("Live view. New recognitions wait in the camera workers while it's down.")],
  recognizer: [() => t("Image API recogniser"), () => t("Image API only. Cameras have their own.")],
};

/** What people see who are not server administrators. */
const HIDDEN = { isHidden: true, checks: {}, warnings: [], stages: [], disks: [] };

/** Returns the status of the installation. @param {boolean} isAdministrator @param {AbortSignal} abort */
async function readInstallation(isAdministrator, abort) {
  if (!isAdministrator) return HIDDEN;
  try {
    return await get("/api/health", {}, abort);
  } catch (error) {
    if (error instanceof Failure && error.status === 403) return HIDDEN;
    throw error;
  }
}

/** Name and purpose of each stage, and what to do if it lags. @type {Record<string, [() => string, () => string, () => string]>} */
const STAGES = {
  ingest: [() => t("Ingest"), () => t("Decodes camera video"), () => t("See its log for the cause.")],
  recognition: [() => t("Recognition"), () => t("Reads plates from frames"), () => t("Not enough CPU. Use fewer cameras, a lower sampling rate or more workers.")],
  sink: [() => t("Storage (sink)"), () => t("Writes recognitions to the search database"), () => t("The search database is slow or down.")],
  alerts: [() => t("Alerts"), () => t("Matches recognitions against alerts"), () => t("Plate lists are too long, or there are too few workers.")],
  webhooks: [() => t("Webhooks"), () => t("Sends webhooks, emails and messages"), () => t("See its log for the cause.")],
  mqtt: [() => t("MQTT"), () => t("Publishes to an MQTT broker"), () => t("The MQTT broker is slow or down.")],
};
const LAG_SECONDS = 15;
const PATIENCE_SECONDS = 2;

/** @param {{name: string, workers: number, waiting: number, behindSeconds: number | null}} one */
function stageState(one) {
  if (!one.workers) return html`<${Badge} kind="bad">${t("Not running")}</${Badge}>`;
  if (one.waiting && (one.behindSeconds ?? Infinity) > LAG_SECONDS) {
    const since = one.behindSeconds === null ? t("Lagging") : t("Lag: {duration}", { duration: t("{n} s", { n: number(Math.round(one.behindSeconds)) }) });
    return html`<${Badge} kind="bad">${since}</${Badge}> <span class="note">${STAGES[one.name]?.[2]() ?? ""}</span>`;
  }
  return html`<${Badge} kind="good">${t("OK")}</${Badge}>`;
}

/** The dependencies, stages and disks. */
function Installation({ found }) {
  const data = found.data;
  return html`<${Fault} failure=${found.failure} retry=${found.reload} />
    ${data && html`<${Table} caption=${t("Components")} columns=${[t("Component"), t("Status"), t("Used for")]}>
      ${Object.entries(data.checks).map(([name, check]) => html`<tr key=${name}><td>${COMPONENTS[name]?.[0]() ?? name}</td>
        <td>${check === "ok" ? html`<${Badge} kind="good">${t("OK")}</${Badge}>` : html`<${Badge} kind="bad">${t("Down")}</${Badge}> <span class="note">${check}</span>`}</td><td>${COMPONENTS[name]?.[1]() ?? ""}</td></tr>`)}
    </${Table}>`}
    ${data?.warnings.length > 0 && html`<section class="panel"><h2>${t("Warnings")}</h2><ul>${data.warnings.map((warning) => html`<li key=${warning}>${warning}</li>`)}</ul></section>`}
    ${data && data.stages === null && html`<p class="note">${t("Stage status is unavailable: the message broker isn't responding.")}</p>`}
    ${data?.stages?.length > 0 && html`<${Table} caption=${t("Pipeline stages")} columns=${[t("Stage"), t("Status"), { text: t("Workers"), kind: "number" }, { text: t("Backlog"), kind: "number" }, t("Purpose")]}>
      ${data.stages.map((one) => html`<tr key=${one.name}><td class="nowrap">${STAGES[one.name]?.[0]() ?? one.name}</td><td>${stageState(one)}</td><td class="number">${number(one.workers)}</td><td class="number">${number(one.waiting)}</td><td>${STAGES[one.name]?.[1]() ?? ""}</td></tr>`)}
    </${Table}>`}
    ${data?.disks.length > 0 && html`<${Table} caption=${t("Disks")} columns=${[t("Disk"), t("Status"), { text: t("Used"), kind: "number" }, { text: t("Free"), kind: "number" }]}>
      ${data.disks.map((disk) => html`<tr key=${disk.name}><td class="nowrap">${disk.name}</td><td>${disk.usedRatio >= 0.8 ? html`<${Badge} kind="bad">${t("Almost full")}</${Badge}>` : html`<${Badge} kind="good">${t("OK")}</${Badge}>`}</td><td class="number">${percent(disk.usedRatio)}</td><td class="number">${t("{n} GiB", { n: number(Math.floor(disk.freeBytes / 2 ** 30)) })}</td></tr>`)}
    </${Table}>`}
    <p class="hint">${t("Metrics for all stages are available to Prometheus. For troubleshooting, see docs/operations.md.")}</p>`;
}

function FailingWebhooks() {
  const webhooks = useLoad((abort) => get("/api/webhooks", {}, abort).then((answer) => answer.webhooks), ["webhooks"], { everySeconds: 30 });
  const failing = (webhooks.data ?? []).filter((webhook) => webhook.failureCount || webhook.disabledReason);
  return html`<section class="panel"><h2>${t("Failing webhooks")}</h2>
    <${Fault} failure=${webhooks.failure} retry=${webhooks.reload} />
    ${webhooks.data && !failing.length && html`<${Empty} title=${t("No failing webhooks")} />`}
    ${failing.length > 0 && html`<${Table} caption=${t("Failing webhooks")} columns=${[t("Webhook"), { text: t("Failed deliveries"), kind: "number" }, t("Reason")]}>
      ${failing.map((webhook) => html`<tr key=${webhook.id}><td><${Link} href=${`/webhooks/${webhook.id}`}><bdi>${webhook.name}</bdi></${Link}></td><td class="number">${number(webhook.failureCount)}</td><td><bdi>${webhook.disabledReason ?? webhook.lastDeliveryStatus ?? ""}</bdi></td></tr>`)}
    </${Table}>`}</section>`;
}

/** Returns whether `seconds` have passed since the page was opened. @param {number} seconds */
function useHasElapsed(seconds) {
  const [hasElapsed, setElapsed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setElapsed(true), seconds * 1000);
    return () => clearTimeout(timer);
  }, [seconds]);
  return hasElapsed;
}

export function HealthPage() {
  const isAdministrator = useMay(ADMINISTRATOR);
  const [isHidden, setHidden] = useState(!isAdministrator);
  const read = async (/** @type {AbortSignal} */ abort) => {
    const found = await readInstallation(isAdministrator, abort);
    setHidden(found === HIDDEN);
    return found;
  };
  const installation = useLoad(read, ["installation", isAdministrator], { everySeconds: isHidden ? 0 : 10 });
  const cameras = useCameras({ everySeconds: 15 });
  const about = useLoad((abort) => get("/api/openapi.json", {}, abort).then((description) => description.info.version), ["version"]);
  // Content must not move once it is shown, but a slow Kafka must not hide a fault for long.
  const isPatienceOver = useHasElapsed(PATIENCE_SECONDS);
  const isAllKnown = isKnown(cameras) && (isKnown(installation) || isPatienceOver);
  const checks = Object.values(installation.data?.checks ?? {});
  const faults = checks.filter((check) => check !== "ok").length;
  return html`<${Head} title=${t("Health")} note=${about.data ? t("Platestream {version}", { version: about.data }) : "\u00a0"}>
      ${checks.length > 0 && (faults ? html`<${Badge} kind="bad">${tn(faults, "{n} component down", "{n} components down")}</${Badge}>` : html`<${Badge} kind="good">${t("All components OK")}</${Badge}>`)}
    </${Head}>
    ${!isAllKnown && html`<${Waiting} rows=${5} />`}
    ${isAllKnown && html`<${Details} cameras=${cameras} installation=${installation} />`}`;
}

/** The page once its data has loaded. */
function Details({ cameras, installation }) {
  const seesWebhooks = useMay("webhooks:read");
  const noVideo = (cameras.data ?? []).filter((camera) => camera.status === "offline" || camera.status === "connecting");
  return html`${!installation.data?.isHidden && html`<${Installation} found=${installation} />`}
    <div class="columns">
      <section class="panel"><h2>${t("Cameras with no video")} <span class="count">${cameras.data ? t("{n} of {all}", { n: number(noVideo.length), all: number(cameras.data.filter((camera) => camera.enabled).length) }) : ""}</span></h2>
        <${Fault} failure=${cameras.failure} retry=${cameras.reload} />
        ${cameras.data && !noVideo.length && html`<${Empty} title=${t("All enabled cameras are sending video")} />`}
        ${noVideo.length > 0 && html`<${Table} caption=${t("Cameras with no video")} columns=${[t("Camera"), t("Status"), t("Last frame"), t("Reason")]}>
          ${noVideo.map((camera) => html`<tr key=${camera.id}><td><${Link} href=${`/cameras/${camera.id}`}><bdi>${camera.name}</bdi></${Link}></td><td><${CameraStateBadge} state=${camera.status} /></td><td>${ago(camera.lastSeenAt)}</td><td><bdi>${camera.lastError ?? ""}</bdi></td></tr>`)}
        </${Table}>`}</section>
      ${seesWebhooks && html`<${FailingWebhooks} />`}
    </div>`;
}
