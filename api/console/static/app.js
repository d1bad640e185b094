/** @file The console: navigation, routing, and the frame around each page. */

import { Fragment, html, render, useEffect, useRef, useState } from "./html.js";
import { outage } from "./api.js";
import { useAction } from "./load.js";
import { Link, go, leaving, match, place, unsaved } from "./router.js";
import { ADMINISTRATOR, refreshSession, logOut, may, session, state } from "./session.js";
import { useKeys } from "./shortcuts.js";
import { useSignal } from "./signal.js";
import { theme } from "./settings.js";
import { Confirm, Dialog, Empty, Head, Menu, SelectField, Toast } from "./ui.js";
import { chooseLanguage, language, languages, loadWords, t } from "./words.js";
import { AccountPage } from "./pages/account.js";
import { AlertPage, NewAlertPage } from "./pages/alert.js";
import { AlertsPage } from "./pages/alerts.js";
import { AnalyticsPage } from "./pages/analytics.js";
import { AuditPage } from "./pages/audit.js";
import { CameraPage } from "./pages/camera.js";
import { CameraImportPage } from "./pages/camera-import.js";
import { NewCameraPage } from "./pages/camera-new.js";
import { CamerasPage } from "./pages/cameras.js";
import { HealthPage } from "./pages/health.js";
import { InvitationPage } from "./pages/invitation.js";
import { KeysPage } from "./pages/keys.js";
import { LivePage } from "./pages/live.js";
import { LogInAgain, LogInPage, LogInReturnPage } from "./pages/login.js";
import { PeoplePage } from "./pages/people.js";
import { RecognitionPage } from "./pages/recognition.js";
import { SearchPage } from "./pages/search.js";
import { NewWebhookPage, WebhookPage } from "./pages/webhook.js";
import { WebhooksPage } from "./pages/webhooks.js";

const PERSON = "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8M4 21a8 8 0 0 1 16 0";

/** The pages by path. api/console/routes.py has the same paths. */
const ROUTES = [
  { form: "/", view: LivePage, title: () => t("Live") },
  { form: "/search", view: SearchPage, title: () => t("Search") },
  { form: "/recognitions/:id", view: RecognitionPage, title: () => t("Recognition") },
  { form: "/cameras", view: CamerasPage, title: () => t("Cameras") },
  { form: "/cameras/new", view: NewCameraPage, title: () => t("Add camera") },
  { form: "/cameras/import", view: CameraImportPage, title: () => t("Import cameras") },
  { form: "/cameras/:id", view: CameraPage, title: () => t("Camera") },
  { form: "/alerts", view: AlertsPage, title: () => t("Alerts") },
  { form: "/alerts/new", view: NewAlertPage, title: () => t("New alert") },
  { form: "/alerts/:id", view: AlertPage, title: () => t("Alert") },
  { form: "/webhooks", view: WebhooksPage, title: () => t("Webhooks") },
  { form: "/webhooks/new", view: NewWebhookPage, title: () => t("New webhook") },
  { form: "/webhooks/:id", view: WebhookPage, title: () => t("Webhook") },
  { form: "/keys", view: KeysPage, title: () => t("API keys") },
  { form: "/people", view: PeoplePage, title: () => t("People") },
  { form: "/invitation", view: InvitationPage, title: () => t("Invitation"), isPublic: true },
  { form: "/log-in/oidc", view: LogInReturnPage, title: () => t("Log in"), isPublic: true },
  { form: "/account", view: AccountPage, title: () => t("Account") },
  { form: "/analytics", view: AnalyticsPage, title: () => t("Analytics") },
  { form: "/audit", view: AuditPage, title: () => t("Audit log") },
  { form: "/health", view: HealthPage, title: () => t("Health") },
];

/**
 * The navigation in groups. Each entry has a path, a name, the key after `g`, the strokes of its icon in a 24 by 24 box, and the scope or role
 * that is required to see it.
 * @type {[() => string, [string, () => string, string, string, string?][]][]}
 */
const GROUPS = [
  [() => t("Monitoring"), [
    ["/", () => t("Live"), "l", "M3 12h4l3-8 4 16 3-8h4"],
    ["/search", () => t("Search"), "s", "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l5 5"],
    ["/cameras", () => t("Cameras"), "c", "M3 7h12v10H3zM15 11l6-3v8l-6-3"],
    ["/alerts", () => t("Alerts"), "a", "M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4"],
    ["/analytics", () => t("Analytics"), "n", "M4 20V10M10 20V4M16 20v-8M21 20H3"],
  ]],
  [() => t("Integrations"), [
    ["/webhooks", () => t("Webhooks"), "w", "M4 12h12M11 6l6 6-6 6M20 4v16", "webhooks:read"],
    ["/keys", () => t("API keys"), "k", "M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8M11 12l9-9M16 7l3 3", "api-keys:read"],
  ]],
  [() => t("Administration"), [
    ["/people", () => t("People"), "p", "M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M2 20a7 7 0 0 1 14 0M16 5.5a3.5 3.5 0 0 1 0 6M18 14.5a7 7 0 0 1 4 5.5", ADMINISTRATOR],
    ["/audit", () => t("Audit log"), "d", "M6 3h9l4 4v14H6zM9 11h7M9 15h7M9 7h3", "audit:read"],
    ["/health", () => t("Health"), "h", "M12 20S4 15 4 9a4 4 0 0 1 8-1 4 4 0 0 1 8 1c0 6-8 11-8 11"],
    ["/account", () => t("Account"), "u", PERSON],
  ]],
];

const PLATE_INPUT = "input[name=plate]";

function Icon({ path }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${path} /></svg>`;
}

/** Returns the navigation groups for a session. @param {import("./session.js").Session | null} who */
const groupsOf = (who) => GROUPS.map(([name, places]) => /** @type {const} */ ([name(), places.filter(([, , , , need]) => !need || may(who, need))])).filter(([, places]) => places.length);

function Navigation({ path, groups }) {
  // A recognition belongs to the page from which it was opened.
  const last = useRef("/search");
  const isAt = (target) => (target === "/" ? path === "/" : path === target || path.startsWith(`${target}/`));
  const at = groups.flatMap(([, places]) => places).find(([target]) => isAt(target))?.[0];
  if (at) last.current = at;
  const current = at ?? (path.startsWith("/recognitions/") ? last.current : "");
  return html`<nav id="places" aria-label=${t("Main navigation")}><div>
    ${groups.map(([name, places]) => html`<p key=${name} class="group-name">${name}</p><ul key=${`${name} list`} aria-label=${name}>${places.map(([target, text, , icon]) => html`<li key=${target}>
      <${Link} href=${target} aria-current=${current === target ? "page" : undefined}><${Icon} path=${icon} /><span>${text()}</span></${Link}>
    </li>`)}</ul>`)}
  </div></nav>`;
}

function Outage() {
  const sentence = useSignal(outage);
  const [isOffline, setOffline] = useState(!navigator.onLine);
  useEffect(() => {
    const note = () => setOffline(!navigator.onLine);
    addEventListener("online", note);
    addEventListener("offline", note);
    return () => {
      removeEventListener("online", note);
      removeEventListener("offline", note);
    };
  }, []);
  if (!sentence && !isOffline) return null;
  return html`<div class="outage" role="alert">
    <p>${isOffline ? t("You're offline.") : sentence} ${t("Showing the last data received. Reconnecting automatically; you won't lose unsaved input.")}</p>
  </div>`;
}

function LogOutButton() {
  const { isBusy, run } = useAction();
  return html`<button type="button" class="plain" disabled=${isBusy} onClick=${() => run(logOut)}>${t("Log out")}</button>`;
}

function UserMenu({ who, onKeys }) {
  const now = useSignal(theme);
  const label = html`<${Icon} path=${PERSON} /><span class="unseen">${t("User menu")}</span> <span class="who">${who?.person.email}</span>`;
  return html`<${Menu} label=${label} kind="at-end">
    <${Link} class="button plain" href="/account">${t("Account")}</${Link}>
    <button type="button" class="plain" onClick=${onKeys}>${t("Keyboard shortcuts")}</button>
    <${SelectField} label=${t("Language")} value=${language} onValue=${chooseLanguage} options=${Object.entries(languages)} />
    <${SelectField} label=${t("Theme")} value=${now} onValue=${(value) => (theme.value = value)} options=${[["auto", t("System")], ["light", t("Light")], ["dark", t("Dark")]]} />
    <${LogOutButton} />
  </${Menu}>`;
}

/** Asks before unsaved input is discarded. */
function Leaving() {
  const to = useSignal(leaving);
  if (!to) return null;
  const leave = () => {
    leaving.value = null;
    unsaved.value = "";
    go(to.target, to);
  };
  return html`<${Confirm} title=${t("Unsaved changes")} action=${t("Leave")} cancel=${t("Keep editing")} onYes=${leave} onNo=${() => (leaving.value = null)}>${unsaved.value}</${Confirm}>`;
}

function KeysHelp({ places, onClose }) {
  const keys = [
    ["/", t("Search plates")],
    ["g", t("Go to a page (then a letter)")],
    ...places.map(([, name, key]) => [`g ${key}`, name()]),
    [t("Space"), t("Live: pause or resume")],
    ["j k", t("Results: next or previous row")],
    [t("Enter"), t("Results: open row")],
    ["n p", t("Results: next or previous page")],
    ["?", t("Show this list")],
  ];
  return html`<${Dialog} title=${t("Keyboard shortcuts")} onClose=${onClose}>
    <dl class="keys">${keys.map(([key, text]) => html`<${Fragment} key=${key}><dt><kbd>${key}</kbd></dt><dd>${text}</dd></${Fragment}>`)}</dl>
    <p class="hint">${t("You can turn shortcuts off under Account.")}</p>
    <div class="actions"><button type="button" onClick=${onClose}>${t("Close")}</button></div>
  </${Dialog}>`;
}

function NoSuchPage() {
  return html`<${Head} title=${t("Page not found")} /><${Empty} title=${t("This page doesn't exist or has moved.")}><${Link} href="/">${t("Go to Live")}</${Link}></${Empty}>`;
}

function Shell() {
  const { path, query } = useSignal(place);
  const who = useSignal(session);
  const now = useSignal(state);
  const [isOpen, setOpen] = useState(false);
  const [showsKeys, setShowsKeys] = useState(false);
  const wentTo = useRef(0);
  const toPlate = useRef(false);
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const groups = groupsOf(who);
  const places = groups.flatMap(([, entries]) => entries);
  const found = match(ROUTES, path);
  const title = found ? found.route.title() : t("Page not found");

  useEffect(() => {
    refreshSession().catch(() => {});
  }, [now]);

  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · Platestream`;
    setOpen(false);
    // Focus the heading, so that screen readers announce the new page.
    const wanted = toPlate.current ? PLATE_INPUT : "h1";
    toPlate.current = false;
    if (!isFirst.current) /** @type {HTMLElement | null | undefined} */ (main.current?.querySelector(wanted))?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [path]);

  const jumps = Object.fromEntries(places.map(([target, , key]) => [key, target]));
  const jump = (key) => {
    if (Date.now() - wentTo.current > 1500) return;
    wentTo.current = 0;
    go(jumps[key]);
  };
  useKeys({
    ...Object.fromEntries(Object.keys(jumps).map((key) => [key, () => jump(key)])),
    g: () => (wentTo.current = Date.now()),
    "?": () => setShowsKeys(true),
    "/": () => {
      const input = /** @type {HTMLInputElement | null} */ (document.querySelector(PLATE_INPUT));
      if (path === "/search") return input?.focus();
      toPlate.current = true;
      return go("/search");
    },
  });

  return html`<a class="skip" href="#main">${t("Skip to content")}</a>
    <div class=${isOpen ? "shell open" : "shell"}>
      <header class="bar">
        <button type="button" class="plain icon-button narrow-menu" aria-expanded=${isOpen ? "true" : "false"} aria-controls="places" aria-label=${t("Menu")} onClick=${() => setOpen(!isOpen)}><${Icon} path="M4 6h16M4 12h16M4 18h16" /></button>
        <${Link} class="brand" href="/"><span class="mark" aria-hidden="true"></span>Platestream</${Link}>
        <div class="bar-end">
          <${UserMenu} who=${who} onKeys=${() => setShowsKeys(true)} />
        </div>
      </header>
      <${Navigation} path=${path} groups=${groups} />
      <main id="main" tabindex="-1" ref=${main}>
        <${Outage} />
        ${found ? html`<${found.route.view} key=${found.route.form + (found.params.id ?? "")} ...${found.params} query=${query} />` : html`<${NoSuchPage} />`}
      </main>
    </div>
    <${Toast} />
    <${Leaving} />
    ${showsKeys && html`<${KeysHelp} places=${places} onClose=${() => setShowsKeys(false)} />`}
    ${now === "ended" && html`<${LogInAgain} person=${who?.person} />`}`;
}

function Console() {
  const { path, query, fragment } = useSignal(place);
  const now = useSignal(state);
  const found = match(ROUTES, path);
  if (found?.route.isPublic) return html`<${found.route.view} key=${fragment} query=${query} fragment=${fragment} />`;
  return now === "out" ? html`<${LogInPage} />` : html`<${Shell} />`;
}

await loadWords();
render(html`<${Console} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
