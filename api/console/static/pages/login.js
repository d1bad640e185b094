/** @file The login: as a page, as a dialog when the session has ended, and the return from an identity provider. */

import { html, useEffect, useState } from "../html.js";
import { get } from "../api.js";
import { useAction, useLoad } from "../load.js";
import { Link, go } from "../router.js";
import { goToProvider, logIn, logInWithProvider } from "../session.js";
import { Dialog, FormFault, TextField, Waiting } from "../ui.js";
import { chooseLanguage, language, languages, t } from "../words.js";

/** The login methods. Password login is the default. `isKnown` once the API has responded. */
export function useLoginMethods() {
  const { data, failure } = useLoad((abort) => get("/api/session/ways", {}, abort), ["ways"]);
  return { password: data?.password ?? true, provider: data?.provider ?? null, isKnown: Boolean(data || failure) };
}

/**
 * The button that logs in with the identity provider, in this tab or, if this page must keep its input, in a new tab.
 * @param {{provider: string, text?: string, invitation?: string, isMain?: boolean, isNewTab?: boolean}} props
 */
export function ProviderButton({ provider, text, invitation, isMain = false, isNewTab = false }) {
  const { isBusy, failure, run } = useAction();
  const start = () => {
    // The window is opened during the click, because browsers block windows that are opened later.
    const tab = isNewTab ? open("", "_blank") : null;
    return run(() => goToProvider(tab ?? window, invitation)).then((isDone) => !isDone && tab?.close());
  };
  return html`<${FormFault} failure=${failure} />
    <button type="button" class=${isMain ? "main" : undefined} disabled=${isBusy} onClick=${start}>${text ?? t("Log in with {provider}", { provider })}</button>
    ${isNewTab && html`<p class="note">${t("Opens in a new tab. This page continues once you're logged in.")}</p>`}`;
}

/** Warns about plain HTTP to another machine. On localhost, browsers report a secure context. */
function PlainHttp() {
  return !isSecureContext && html`<p class="alarm" role="note">${t("This connection isn't encrypted, so others on the network can read your password. Log in only on a network you trust.")}</p>`;
}

function LogInForm({ ways, email, hasPassword = true, isNewTab = false }) {
  const byPassword = ways.password && (hasPassword || !ways.provider);
  return html`${byPassword && html`<${PasswordForm} email=${email} provider=${ways.provider} />`}
    ${ways.provider && html`<div class="log-in">${byPassword && html`<p class="note">${t("or")}</p>`}<${ProviderButton} provider=${ways.provider} isMain=${!byPassword} isNewTab=${isNewTab} /></div>`}`;
}

function PasswordForm({ email: given = "", provider = null }) {
  const [email, setEmail] = useState(given);
  const [password, setPassword] = useState("");
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(() => logIn(email.trim(), password));
  };
  const isWrong = failure?.status === 401;
  return html`<form class="log-in" onSubmit=${submit}>
    ${isWrong
      ? html`<div class="alarm" role="alert"><p>${t("Wrong email address or password.")}</p>${provider && html`<p>${t("If you log in with {provider}, you have no password here. Use the button below.", { provider })}</p>`}</div>`
      : html`<${FormFault} failure=${failure} />`}
    <${TextField} label=${t("Email")} type="email" name="email" autocomplete="username" required autofocus value=${email} onValue=${setEmail} />
    <${TextField} label=${t("Password")} type="password" name="password" autocomplete="current-password" required value=${password} onValue=${setPassword} />
    <button class="main" disabled=${isBusy}>${isBusy ? t("Logging in…") : t("Log in")}</button>
    <p class="note">${t("Forgot your password? Ask your server administrator to reset it.")}</p>
  </form>`;
}

/** A page for people who are not logged in. */
export function Entrance({ title, children }) {
  useEffect(() => void (document.title = `${title} · Platestream`), [title]);
  return html`<main class="log-in-page" id="main">
    <div class="log-in-box">
      <p class="brand"><span class="mark" aria-hidden="true"></span>Platestream</p>
      <h1 tabindex="-1">${title}</h1>
      <${PlainHttp} />
      ${children}
      <p class="languages">${Object.entries(languages).map(([code, name]) => html`<button key=${code} type="button" class="plain" lang=${code} aria-current=${code === language ? "true" : undefined} onClick=${() => chooseLanguage(code)}>${name}</button>`)}</p>
    </div>
  </main>`;
}

export function LogInPage() {
  const ways = useLoginMethods();
  // Wait for the methods, so that the form does not move once it is shown.
  if (!ways.isKnown) return null;
  return html`<${Entrance} title=${t("Log in")}><${LogInForm} ways=${ways} /></${Entrance}>`;
}

export function LogInAgain({ person }) {
  const ways = useLoginMethods();
  return html`<${Dialog} title=${t("Your session has expired")} onClose=${() => {}} isPersistent>
    <p>${t("Log in again to continue. Your unsaved input is still here.")}</p>
    <${PlainHttp} />
    ${ways.isKnown && html`<${LogInForm} ways=${ways} email=${person?.email} hasPassword=${person?.hasPassword} isNewTab />`}
  </${Dialog}>`;
}

/** @param {{code?: string, error?: string}} given */
function errorText({ code, error }) {
  if (error === "access_denied") return t("Your identity provider denied access. Contact its administrator.");
  if (error) return t("Single sign-on failed ({error}). Try again.", { error });
  return code ? "" : t("This login has expired. Start again.");
}

/** The page to which the provider redirects. */
export function LogInReturnPage({ query }) {
  // The query is copied before the address bar is cleared.
  const [given] = useState(query);
  const { failure, run } = useAction();
  const message = errorText(given);
  useEffect(() => {
    history.replaceState(null, "", location.pathname);
    if (!message) run(async () => go(await logInWithProvider(given), { replace: true }));
  }, []);
  return html`<${Entrance} title=${t("Log in")}>
    ${message && html`<div class="alarm" role="alert"><p>${message}</p></div>`}
    <${FormFault} failure=${failure} />
    ${message || failure ? html`<div class="actions"><${Link} class="button" href="/">${t("Go to login")}</${Link}></div>` : html`<${Waiting} rows=${3} />`}
  </${Entrance}>`;
}
