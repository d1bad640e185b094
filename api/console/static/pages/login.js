/** @file The log-in: as a page, or over the page whose session ended; and the way back from a provider. */

import { html, useEffect, useState } from "../html.js";
import { get } from "../api.js";
import { useAction, useLoad } from "../load.js";
import { Link, go } from "../router.js";
import { goToProvider, logIn, logInByProvider } from "../session.js";
import { Dialog, FormFault, TextField, Waiting } from "../ui.js";
import { chooseLanguage, language, languages, t } from "../words.js";

/** By what people log in: by password where nobody says otherwise. `isKnown` once that was asked. */
export function useWays() {
  const { data, failure } = useLoad((abort) => get("/api/session/ways", {}, abort), ["ways"]);
  return { password: data?.password ?? true, provider: data?.provider ?? null, isKnown: Boolean(data || failure) };
}

/**
 * The way to the provider: in this tab, or in another one beside a page that is to stay as it is.
 * @param {{provider: string, text?: string, invitation?: string, isMain?: boolean, isBeside?: boolean}} props
 */
export function ProviderButton({ provider, text, invitation, isMain = false, isBeside = false }) {
  const { isBusy, failure, run } = useAction();
  const start = () => {
    // Opened by the press itself: a browser lets no later moment open anything.
    const tab = isBeside ? open("", "_blank") : null;
    return run(() => goToProvider(tab ?? window, invitation)).then((isDone) => !isDone && tab?.close());
  };
  return html`<${FormFault} failure=${failure} />
    <button type="button" class=${isMain ? "main" : undefined} disabled=${isBusy} onClick=${start}>${text ?? t("Log in with {provider}", { provider })}</button>
    ${isBeside && html`<p class="note">${t("Opens in a new tab. This page continues once you're logged in.")}</p>`}`;
}

/** Warns of plain HTTP to another machine: of this machine a browser says that its context is secure. */
function PlainHttp() {
  return !isSecureContext && html`<p class="alarm" role="note">${t("This connection isn't encrypted, so others on the network can read your password. Log in only on a network you trust.")}</p>`;
}

function LogInForm({ ways, email, hasPassword = true, isBeside = false }) {
  const byPassword = ways.password && (hasPassword || !ways.provider);
  return html`${byPassword && html`<${PasswordForm} email=${email} provider=${ways.provider} />`}
    ${ways.provider && html`<div class="log-in">${byPassword && html`<p class="note">${t("or")}</p>`}<${ProviderButton} provider=${ways.provider} isMain=${!byPassword} isBeside=${isBeside} /></div>`}`;
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

/** A page for who is not there yet. */
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
  const ways = useWays();
  // Nothing moves once it is shown.
  if (!ways.isKnown) return null;
  return html`<${Entrance} title=${t("Log in")}><${LogInForm} ways=${ways} /></${Entrance}>`;
}

export function LogInAgain({ person }) {
  const ways = useWays();
  return html`<${Dialog} title=${t("Your session has expired")} onClose=${() => {}} isKept>
    <p>${t("Log in again to continue. Your unsaved input is still here.")}</p>
    <${PlainHttp} />
    ${ways.isKnown && html`<${LogInForm} ways=${ways} email=${person?.email} hasPassword=${person?.hasPassword} isBeside />`}
  </${Dialog}>`;
}

/** @param {{code?: string, error?: string}} given */
function overSentence({ code, error }) {
  if (error === "access_denied") return t("Your identity provider denied access. Contact its administrator.");
  if (error) return t("Single sign-on failed ({error}). Try again.", { error });
  return code ? "" : t("This login has expired. Start again.");
}

/** Where the provider sends browsers back to. */
export function LogInReturnPage({ query }) {
  // Kept from the address bar as it was: it is used up here.
  const [given] = useState(query);
  const { failure, run } = useAction();
  const over = overSentence(given);
  useEffect(() => {
    history.replaceState(null, "", location.pathname);
    if (!over) run(async () => go(await logInByProvider(given), { replace: true }));
  }, []);
  return html`<${Entrance} title=${t("Log in")}>
    ${over && html`<div class="alarm" role="alert"><p>${over}</p></div>`}
    <${FormFault} failure=${failure} />
    ${over || failure ? html`<div class="actions"><${Link} class="button" href="/">${t("Go to login")}</${Link}></div>` : html`<${Waiting} rows=${3} />`}
  </${Entrance}>`;
}
