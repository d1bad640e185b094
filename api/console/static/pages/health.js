/** @file The account's cameras and webhooks, and the state of the installation for its operators. */

import { html, useEffect, useState } from "../html.js";
import { Failure, get } from "../api.js";
import { useCameras } from "../filters.js";
import { ago, number, percent } from "../format.js";
import { isKnown, useLoad } from "../load.js";
import { Link } from "../router.js";
import { ADMINISTRATOR, useMay } from "../session.js";
import { Badge, CameraStateBadge, Empty, Fault, Head, Table, Waiting } from "../ui.js";
import { t, tn } from "../words.js";

const PARTS = {
  postgres: [() => t("Configuration database"), () => t("accounts, keys, cameras, alerts, webhooks, credits: nearly every call")],
  clickhouse: [() => t("Search database"), () => t("search, analytics, deliveries")],
  s3: [() => t("Picture store"), () => t("photos, crops and snapshots")],
  kafka: [() => t("Message broker"), () => t("the live view; new passes wait in the cameras' workers")],
  recognizer: [() => t("Recogniser"), () => t("image calls; cameras have one of their own")],
};

/** What people see who do not operate the installation. */
const HIDDEN = { isHidden: true, checks: {}, warnings: [], stages: [], disks: [] };

/** The state of the installation. @param {boolean} isAdministrator @param {AbortSignal} abort */
async function readInstallation(isAdministrator, abort) {
  if (!isAdministrator) return HIDDEN;
  try {
    return await get("/api/health", {}, abort);
  } catch (error) {
    if (error instanceof Failure && error.status === 403) return HIDDEN;
    throw error;
  }
}

/** What a stage does, and what it is for where it is behind. @type {Record<string, [() => string, () => string]>} */
const STAGES = {
  ingest: [() => t("decodes the cameras' video"), () => t("Its log names what it waits for.")],
  recognition: [() => t("reads plates from frames"), () => t("Too little processor: fewer cameras, fewer frames a second, or more workers.")],
  sink: [() => t("writes what is read into the search database"), () => t("The search database is slow or away.")],
  alerts: [() => t("compares plates with alerts"), () => t("Long lists, or too few workers.")],
  webhooks: [() => t("sends webhooks, e-mails and messages"), () => t("Its log names what it waits for.")],
  mqtt: [() => t("tells an MQTT broker"), () => t("The MQTT broker is slow or away.")],
};
const BEHIND_SECONDS = 15;
const PATIENCE_SECONDS = 2;

/** @param {{name: string, workers: number, waiting: number, behindSeconds: number | null}} one */
function stageState(one) {
  if (!one.workers) return html`<${Badge} kind="bad">${t("nobody works here")}</${Badge}>`;
  if (one.waiting && (one.behindSeconds ?? Infinity) > BEHIND_SECONDS) {
    const since = one.behindSeconds === null ? t("behind") : t("{duration} behind", { duration: t("{n} s", { n: number(Math.round(one.behindSeconds)) }) });
    return html`<${Badge} kind="bad">${since}</${Badge}> <span class="note">${STAGES[one.name]?.[1]() ?? ""}</span>`;
  }
  return html`<${Badge} kind="good">${t("keeps up")}</${Badge}>`;
}

/** The dependencies, stages and disks. */
function Installation({ found }) {
  const known = found.data;
  return html`<${Fault} failure=${found.failure} retry=${found.reload} />
    ${known && html`<${Table} caption=${t("Parts of the service")} columns=${[t("Part"), t("State"), t("What needs it")]}>
      ${Object.entries(known.checks).map(([name, check]) => html`<tr key=${name}><td>${PARTS[name]?.[0]() ?? name}</td>
        <td>${check === "ok" ? html`<${Badge} kind="good">${t("answers")}</${Badge}>` : html`<${Badge} kind="bad">${t("away")}</${Badge}> <span class="note">${check}</span>`}</td><td>${PARTS[name]?.[1]() ?? ""}</td></tr>`)}
    </${Table}>`}
    ${known?.warnings.length > 0 && html`<section class="panel"><h2>${t("Warnings")}</h2><ul>${known.warnings.map((warning) => html`<li key=${warning}>${warning}</li>`)}</ul></section>`}
    ${known && known.stages === null && html`<p class="note">${t("How far the stages are is not known: the message broker does not say.")}</p>`}
    ${known?.stages?.length > 0 && html`<${Table} caption=${t("Stages")} columns=${[t("Stage"), t("State"), { text: t("Workers"), kind: "number" }, { text: t("Messages left"), kind: "number" }, t("What it does")]}>
      ${known.stages.map((one) => html`<tr key=${one.name}><td class="nowrap">${one.name}</td><td>${stageState(one)}</td><td class="number">${number(one.workers)}</td><td class="number">${number(one.waiting)}</td><td>${STAGES[one.name]?.[0]() ?? ""}</td></tr>`)}
    </${Table}>`}
    ${known?.disks.length > 0 && html`<${Table} caption=${t("Disks")} columns=${[t("Disk of"), t("State"), { text: t("Used"), kind: "number" }, { text: t("Left"), kind: "number" }]}>
      ${known.disks.map((disk) => html`<tr key=${disk.name}><td class="nowrap">${disk.name}</td><td>${disk.usedRatio >= 0.8 ? html`<${Badge} kind="bad">${t("nearly full")}</${Badge}>` : html`<${Badge} kind="good">${t("has room")}</${Badge}>`}</td><td class="number">${percent(disk.usedRatio)}</td><td class="number">${t("{n} GiB", { n: number(Math.floor(disk.freeBytes / 2 ** 30)) })}</td></tr>`)}
    </${Table}>`}
    <p class="hint">${t("Metrics of all stages are for Prometheus; what to do about each symptom stands in docs/runbook.md.")}</p>`;
}

function IllWebhooks() {
  const webhooks = useLoad((abort) => get("/api/webhooks", {}, abort).then((answer) => answer.webhooks), ["webhooks"], { everySeconds: 30 });
  const ill = (webhooks.data ?? []).filter((webhook) => webhook.failureCount || webhook.disabledReason);
  return html`<section class="panel"><h2>${t("Webhooks that fail")}</h2>
    <${Fault} failure=${webhooks.failure} retry=${webhooks.reload} />
    ${webhooks.data && !ill.length && html`<${Empty} title=${t("None.")} />`}
    ${ill.length > 0 && html`<${Table} caption=${t("Webhooks that fail")} columns=${[t("Webhook"), { text: t("Given up"), kind: "number" }, t("Why")]}>
      ${ill.map((webhook) => html`<tr key=${webhook.id}><td><${Link} href=${`/webhooks/${webhook.id}`}><bdi>${webhook.name}</bdi></${Link}></td><td class="number">${number(webhook.failureCount)}</td><td><bdi>${webhook.disabledReason ?? webhook.lastDeliveryStatus ?? ""}</bdi></td></tr>`)}
    </${Table}>`}</section>`;
}

/** Tells whether so many seconds have passed since the view was opened. @param {number} seconds */
function useIsLate(seconds) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), seconds * 1000);
    return () => clearTimeout(timer);
  }, [seconds]);
  return isLate;
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
  // What stands below it moves no more, but whoever looks for a fault does not wait for Kafka.
  const isLate = useIsLate(PATIENCE_SECONDS);
  const isAllKnown = isKnown(cameras) && (isKnown(installation) || isLate);
  const checks = Object.values(installation.data?.checks ?? {});
  const faults = checks.filter((check) => check !== "ok").length;
  return html`<${Head} title=${t("Health")} note=${about.data ? t("Platestream {version}", { version: about.data }) : "\u00a0"}>
      ${checks.length > 0 && (faults ? html`<${Badge} kind="bad">${tn(faults, "{n} part is away", "{n} parts are away")}</${Badge}>` : html`<${Badge} kind="good">${t("All parts answer")}</${Badge}>`)}
    </${Head}>
    ${!isAllKnown && html`<${Waiting} rows=${5} />`}
    ${isAllKnown && html`<${Known} cameras=${cameras} installation=${installation} />`}`;
}

/** What stands there once it is known. */
function Known({ cameras, installation }) {
  const seesWebhooks = useMay("webhooks:read");
  const away = (cameras.data ?? []).filter((camera) => camera.status === "offline" || camera.status === "connecting");
  return html`${!installation.data?.isHidden && html`<${Installation} found=${installation} />`}
    <div class="columns">
      <section class="panel"><h2>${t("Cameras without a picture")} <span class="count">${cameras.data ? t("{n} of {all}", { n: number(away.length), all: number(cameras.data.filter((camera) => camera.enabled).length) }) : ""}</span></h2>
        <${Fault} failure=${cameras.failure} retry=${cameras.reload} />
        ${cameras.data && !away.length && html`<${Empty} title=${t("None: all that are switched on give pictures.")} />`}
        ${away.length > 0 && html`<${Table} caption=${t("Cameras without a picture")} columns=${[t("Camera"), t("State"), t("Since"), t("Why")]}>
          ${away.map((camera) => html`<tr key=${camera.id}><td><${Link} href=${`/cameras/${camera.id}`}><bdi>${camera.name}</bdi></${Link}></td><td><${CameraStateBadge} state=${camera.status} /></td><td>${ago(camera.lastSeenAt)}</td><td><bdi>${camera.lastError ?? ""}</bdi></td></tr>`)}
        </${Table}>`}</section>
      ${seesWebhooks && html`<${IllWebhooks} />`}
    </div>`;
}
