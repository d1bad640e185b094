/** @file The page of an invitation link. Its token follows the #, so the browser never sends it. */

import { html, useState } from "../html.js";
import { call } from "../api.js";
import { useAction, useLoad } from "../load.js";
import { ROLES } from "../roles.js";
import { Link, go } from "../router.js";
import { logIn, logOut, state } from "../session.js";
import { useSignal } from "../signal.js";
import { Fault, FormFault, Moment, TextField, Waiting } from "../ui.js";
import { t } from "../words.js";
import { Entrance, ProviderButton, useLoginMethods } from "./login.js";

/** Whether a link is no longer valid, or never was. @param {import("../api.js").Failure | null} failure */
const isExpired = (failure) => failure?.status === 404 || failure?.fault("token") !== undefined;

function WayOn() {
  const now = useSignal(state);
  return html`<div class="actions"><${Link} class="button" href="/">${now === "out" ? t("Go to login") : t("Go to Live")}</${Link}></div>`;
}

function Expired() {
  return html`<div class="alarm" role="alert"><p>${t("This invitation is no longer valid. It was used, revoked or replaced, or it has expired.")}</p></div>
    <p>${t("Ask for a new one. If you've already joined, log in.")}</p><${WayOn} />`;
}

function Joining({ token, invitation }) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const isLoggedIn = useSignal(state) !== "out";
  const ways = useLoginMethods();
  const { isBusy, failure, run } = useAction();
  const submit = (event) => {
    event.preventDefault();
    run(async () => {
      const { email } = await call("POST", "/api/invitations/accept", { body: { token, name: name.trim(), password } });
      // The link is used up from here on, even if the login fails.
      history.replaceState(null, "", "/");
      try {
        if (isLoggedIn) await logOut().catch(() => {});
        await logIn(email, password);
      } finally {
        go("/", { replace: true });
      }
    });
  };
  if (isExpired(failure)) return html`<${Expired} />`;
  if (!ways.isKnown) return html`<${Waiting} rows=${4} />`;
  return html`<p>${t("{inviter} invited you to join as {role}.", { inviter: invitation.invitedBy, role: ROLES[invitation.role].name() })} <span class="note">${t("Expires")} <${Moment} at=${invitation.expiresAt} /></span></p>
    ${ways.provider && html`<div class="log-in"><${ProviderButton} provider=${ways.provider} text=${t("Join with {provider}", { provider: ways.provider })} invitation=${token} isMain=${!ways.password} />${ways.password && html`<p class="note">${t("or")}</p>`}</div>`}
    ${ways.password && html`<form class="log-in" onSubmit=${submit}>
      <${FormFault} failure=${failure} shown=${["name", "password"]} />
      ${failure?.code === "person_exists" && html`<p>${t("Log in with it, or ask for an invitation to another address.")}</p><${WayOn} />`}
      <${TextField} label=${t("Email")} type="email" autocomplete="username" readonly value=${invitation.email} onValue=${() => {}} />
      <${TextField} label=${t("Your name")} required maxlength="200" autocomplete="name" autofocus value=${name} onValue=${setName} fault=${failure?.fault("name")} />
      <${TextField} label=${t("Password")} type="password" required minlength="8" maxlength="1024" autocomplete="new-password" hint=${t("At least 8 characters")} value=${password} onValue=${setPassword} fault=${failure?.fault("password")} />
      ${isLoggedIn && html`<p class="note">${t("Someone is already logged in on this browser. Joining logs them out.")}</p>`}
      <button class="main" disabled=${isBusy}>${isBusy ? t("Joining…") : t("Join")}</button>
    </form>`}`;
}

function Invited({ token }) {
  const found = useLoad((abort) => call("POST", "/api/invitations/find", { body: { token }, signal: abort }).then((answer) => answer.invitation), [token]);
  if (found.data) return html`<${Joining} token=${token} invitation=${found.data} />`;
  if (isExpired(found.failure)) return html`<${Expired} />`;
  return found.failure ? html`<${Fault} failure=${found.failure} retry=${found.reload} />` : html`<${Waiting} rows=${4} />`;
}

export function InvitationPage({ fragment }) {
  return html`<${Entrance} title=${t("Invitation")}>${fragment ? html`<${Invited} token=${fragment} />` : html`<${Expired} />`}</${Entrance}>`;
}
