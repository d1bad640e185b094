/** @file The log-in: as a page, or over the page whose session ended. */

import { html, useEffect, useState } from "../html.js";
import { useAction } from "../load.js";
import { logIn } from "../session.js";
import { Dialog, FormFault, TextField } from "../ui.js";
import { chooseLanguage, language, languages, t } from "../words.js";

function LogInForm({ email: given = "" }) {
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
      ? html`<div class="alarm" role="alert"><p>${t("E-mail address or password is wrong.")}</p></div>`
      : html`<${FormFault} failure=${failure} />`}
    <${TextField} label=${t("E-mail address")} type="email" name="email" autocomplete="username" required autofocus value=${email} onValue=${setEmail} />
    <${TextField} label=${t("Password")} type="password" name="password" autocomplete="current-password" required value=${password} onValue=${setPassword} />
    <button class="main" disabled=${isBusy}>${isBusy ? t("Logging in …") : t("Log in")}</button>
  </form>`;
}

/** A page for who is not there yet. */
export function Entrance({ title, children }) {
  useEffect(() => void (document.title = `${title} · Platestream`), [title]);
  return html`<main class="log-in-page" id="main">
    <div class="log-in-box">
      <p class="brand"><span class="mark" aria-hidden="true"></span>Platestream</p>
      <h1 tabindex="-1">${title}</h1>
      ${children}
      <p class="languages">${Object.entries(languages).map(([code, name]) => html`<button key=${code} type="button" class="plain" lang=${code} aria-current=${code === language ? "true" : undefined} onClick=${() => chooseLanguage(code)}>${name}</button>`)}</p>
    </div>
  </main>`;
}

export function LogInPage() {
  return html`<${Entrance} title=${t("Log in")}><${LogInForm} /></${Entrance}>`;
}

export function LogInAgain({ email }) {
  return html`<${Dialog} title=${t("The session has ended")} onClose=${() => {}} isKept>
    <p>${t("Log in again to go on; what you have typed is still there.")}</p>
    <${LogInForm} email=${email} />
  </${Dialog}>`;
}
