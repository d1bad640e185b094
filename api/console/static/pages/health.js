/** @file Problems of the account's cameras, webhooks and notifications and, for server administrators, of the installation. */

import { html, useEffect, useState } from "../html.js";
import { Failure, get } from "../api.js";
import { CHANNELS, errorOf } from "../deliveries.js";
import { useCameras } from "../filters.js";
import { ago, number, percent } from "../format.js";
import { isKnown, useLoad } from "../load.js";
import { Link } from "../router.js";
import { ADMINISTRATOR, useMay } from "../session.js";
import { Badge, Fault, Head, Table, Waiting } from "../ui.js";
import { t, tn, translated } from "../words.js";

const COMPONENTS = {
  postgres: [() => t("Configuration database (PostgreSQL)"), () => t("Accounts, API keys, cameras, alerts, webhooks, credits")],
  clickhouse: [() => t("Search database (ClickHouse)"), () => t("Search, analytics, deliveries")],
  s3: [() => t("Image store (S3)"), () => t("Photos, crops, snapshots")],
  kafka: [() => t("Message broker (Kafka)"), () => t("Live view. While Kafka is down, new frames wait in the ingest workers.")],
  recognizer: [() => t("Image API recogniser"), () => t("Image API only. Cameras have their own.")],
};

/** The status shown to people who are not server administrators. */
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
const FULL_RATIO = 0.8;
const PATIENCE_SECONDS = 2;
/** Maximum number of problems that are shown initially. */
const SHOWN = 10;
/** Maximum number of alerts whose notifications are checked. */
const CHECKED_ALERTS = 20;

/** @typedef {{key: string, text: unknown, note?: unknown, href?: string}} Problem */
/** @typedef {{name: string, workers: number, waiting: number, behindSeconds: number | null}} Stage */

const componentName = (name) => COMPONENTS[name]?.[0]() ?? name;
const stageName = (name) => STAGES[name]?.[0]() ?? name;
const isLagging = (/** @type {Stage} */ one) => one.waiting > 0 && (one.behindSeconds ?? Infinity) > LAG_SECONDS;
/** @param {Stage} one */
function lagText({ behindSeconds }) {
  if (behindSeconds === null) return "–";
  return behindSeconds < 120 ? t("{n} s", { n: number(Math.round(behindSeconds)) }) : t("{n} min", { n: number(Math.round(behindSeconds / 60)) });
}
const freeText = (disk) => t("{n} GiB free", { n: number(Math.floor(disk.freeBytes / 2 ** 30)) });

/** @returns {Problem[]} */
function installationProblems({ checks, warnings, stages, disks }) {
  return [
    ...Object.entries(checks).filter(([, check]) => check !== "ok").map(([name, check]) => ({ key: name, text: t("{name} is down", { name: componentName(name) }), note: `${check}. ${t("Affected: {what}", { what: COMPONENTS[name]?.[1]() ?? "–" })}` })),
    ...(stages === null ? [{ key: "stages", text: t("Stage status is unavailable: the message broker isn't responding.") }] : []),
    ...(stages ?? []).filter((one) => !one.workers).map((one) => ({ key: `stage ${one.name}`, text: t("Stage {name} isn't running", { name: stageName(one.name) }), note: t("See its log for the cause.") })),
    ...(stages ?? []).filter((one) => one.workers && isLagging(one)).map((one) => ({ key: `stage ${one.name}`, text: t("Stage {name} is lagging by {duration}", { name: stageName(one.name), duration: lagText(one) }), note: STAGES[one.name]?.[2]() })),
    ...disks.filter((disk) => disk.usedRatio >= FULL_RATIO).map((disk) => ({ key: `disk ${disk.name}`, text: t("Disk {name} is {percent} full", { name: disk.name, percent: percent(disk.usedRatio) }), note: freeText(disk) })),
    // Disks are listed above.
    ...warnings.filter((warning) => !warning.startsWith("the disk of ")).map((warning) => ({ key: warning, text: warning })),
  ];
}

/** @returns {Problem} */
const cameraProblem = (camera) => ({
  key: camera.id,
  text: camera.status === "offline" ? t("Camera {name} is offline", { name: camera.name }) : t("Camera {name} is connecting", { name: camera.name }),
  note: html`${camera.lastError && html`<bdi>${translated(camera.lastError)}</bdi> `}${t("Last frame: {ago}", { ago: ago(camera.lastSeenAt) })}`,
  href: `/cameras/${camera.id}`,
});

/** @returns {Problem} */
const webhookProblem = (webhook) => ({
  key: webhook.id,
  text: webhook.disabledReason ? t("Webhook {name} was disabled", { name: webhook.name }) : t("Webhook {name} is failing", { name: webhook.name }),
  note: html`${webhook.disabledReason ? html`<bdi>${webhook.disabledReason}</bdi>` : tn(webhook.failureCount, "{n} failed delivery", "{n} failed deliveries")}${webhook.lastDeliveryStatus ? ` (${webhook.lastDeliveryStatus})` : ""}`,
  href: `/webhooks/${webhook.id}`,
});

/** Returns a problem for each alert whose last notification on a channel was not delivered. @param {AbortSignal} abort @returns {Promise<Problem[]>} */
async function notificationProblems(abort) {
  const { alerts } = await get("/api/alertas", {}, abort);
  const notifying = alerts.filter((alert) => alert.enabled && alert.notifications.length).slice(0, CHECKED_ALERTS);
  const found = await Promise.all(notifying.map(async (alert) => {
    const { deliveries } = await get(`/api/alertas/${alert.id}/deliveries`, {}, abort);
    /** @type {Map<string, any>} */
    const last = new Map();
    for (const one of deliveries) if (!last.has(one.channel)) last.set(one.channel, one);
    return [...last.values()].filter((one) => one.outcome === "dead" || one.outcome === "retrying").map((one) => ({
      key: alert.id + one.channel,
      text: one.cause === "test" ? t("A test of alert {name} isn't delivered", { name: alert.name }) : t("A notification of alert {name} isn't delivered", { name: alert.name }),
      note: html`(${CHANNELS[one.channel]?.() ?? one.channel}) <bdi>${errorOf(one.lastError) || (one.lastStatus ?? "")}</bdi>`,
      href: `/alerts/${alert.id}`,
    }));
  }));
  return found.flat();
}

/** @param {{problems: Problem[], checked: string[]}} props */
function Verdict({ problems, checked }) {
  if (!problems.length) return html`<section class="verdict"><h2>${t("No problems found")}</h2><p class="note">${t("Checked: {list}", { list: checked.join(" · ") })}</p></section>`;
  const rows = problems.map(({ key, text, note, href }) => html`<li key=${key}>${href ? html`<${Link} href=${href}>${text}</${Link}>` : html`<strong>${text}</strong>`} ${note && html`<span class="note">${note}</span>`}</li>`);
  return html`<section class="verdict bad"><h2>${tn(problems.length, "{n} problem", "{n} problems")}</h2>
    <ul>${rows.slice(0, SHOWN)}</ul>
    ${rows.length > SHOWN && html`<details><summary>${t("Show {n} more", { n: number(rows.length - SHOWN) })}</summary><ul>${rows.slice(SHOWN)}</ul></details>`}
  </section>`;
}

/** The dependencies, stages and disks. */
function Installation({ data }) {
  const stageColumns = [t("Stage"), t("Status"), { text: t("Lag"), kind: "number" }, { text: t("Backlog"), kind: "number" }, { text: t("Workers"), kind: "number" }];
  return html`<section><h2>${t("Components")}</h2><${Table} caption=${t("Components")} columns=${[t("Component"), t("Status")]}>
      ${Object.entries(data.checks).map(([name, check]) => html`<tr key=${name}><td>${componentName(name)}</td>
        <td>${check === "ok" ? t("OK") : html`<${Badge} kind="bad">${t("Down")}</${Badge}>`}</td></tr>`)}
    </${Table}></section>
    ${data.stages?.length > 0 && html`<section><h2>${t("Pipeline")}</h2><${Table} caption=${t("Pipeline stages")} columns=${stageColumns}>
      ${data.stages.map((one) => html`<tr key=${one.name}><td>${stageName(one.name)}<div class="note">${STAGES[one.name]?.[1]() ?? ""}</div></td><td><${StageState} one=${one} /></td>
        <td class="number">${one.waiting ? lagText(one) : ""}</td><td class="number">${number(one.waiting)}</td><td class="number">${number(one.workers)}</td></tr>`)}
    </${Table}></section>`}
    ${data.disks.length > 0 && html`<section class="panel"><h2>${t("Disks")}</h2><ul class="ranking disks">
      ${data.disks.map((disk) => html`<li key=${disk.name}><span class="ranking-name">${disk.name}</span><span class="ranking-bar" aria-hidden="true"><span class=${disk.usedRatio >= FULL_RATIO ? "full" : ""} style=${{ width: percentWidth(disk.usedRatio) }}></span></span>
        <span class="number">${disk.usedRatio >= FULL_RATIO && html`<${Badge} kind="bad">${t("Almost full")}</${Badge}> `}${t("{percent} used", { percent: percent(disk.usedRatio) })} · ${freeText(disk)}</span></li>`)}
    </ul></section>`}`;
}

/** @param {number} ratio */
const percentWidth = (ratio) => `${Math.round(100 * ratio)}%`;

function StageState({ one }) {
  if (!one.workers) return html`<${Badge} kind="bad">${t("Not running")}</${Badge}>`;
  if (!isLagging(one)) return t("OK");
  return html`<${Badge} kind="bad">${t("Lagging")}</${Badge}><div class="note">${STAGES[one.name]?.[2]() ?? ""}</div>`;
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
  const seesWebhooks = useMay("webhooks:read");
  const webhooks = useLoad((abort) => (seesWebhooks ? get("/api/webhooks", {}, abort).then((answer) => answer.webhooks) : Promise.resolve([])), ["webhooks", seesWebhooks], { everySeconds: 30 });
  const notifications = useLoad((abort) => (seesWebhooks ? notificationProblems(abort) : Promise.resolve([])), ["notifications", seesWebhooks], { everySeconds: 60 });
  // Content must not move once it is shown, but a slow Kafka must not hide a fault for long.
  const isPatienceOver = useHasElapsed(PATIENCE_SECONDS);
  const isAllKnown = isKnown(cameras, webhooks, notifications) && (isKnown(installation) || isPatienceOver);
  const data = installation.data;
  const reads = [installation, cameras, webhooks, notifications];
  const checked = [
    ...(data && !data.isHidden ? [t("Components"), t("Pipeline"), t("Disks")] : []), t("Cameras"), ...(seesWebhooks ? [t("Webhooks"), t("Notifications")] : []),
  ];
  const failed = reads.find((read) => read.failure);
  const problems = [
    ...(data ? installationProblems(data) : []),
    ...(cameras.data ?? []).filter((camera) => camera.status === "offline" || camera.status === "connecting").map(cameraProblem),
    ...(webhooks.data ?? []).filter((webhook) => webhook.failureCount || webhook.disabledReason).map(webhookProblem),
    ...(notifications.data ?? []),
  ];
  return html`<${Head} title=${t("Health")} />
    ${!isAllKnown && html`<${Waiting} rows=${5} />`}
    ${isAllKnown && html`<${Fault} failure=${failed?.failure} retry=${failed?.reload} />
      ${(problems.length > 0 || !failed) && html`<${Verdict} problems=${problems} checked=${checked} />`}
      ${!isKnown(installation) && html`<${Waiting} rows=${5} />`}
      ${data && !data.isHidden && html`<${Installation} data=${data} />`}
      <p class="hint about">${about.data && t("Platestream {version}", { version: about.data })}${data && !data.isHidden && html` · ${t("Metrics for all stages are available to Prometheus. For troubleshooting, see docs/operations.md.")}`}</p>`}`;
}
