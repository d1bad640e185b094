// Receives events with Express: WEBHOOK_SECRET=whsec_... node express_receiver.js

import express from "express";
import { EventError, Seen, SignatureError, parse, verify } from "@platestream/client/receiver";

const seen = new Seen();
const app = express();

// The signature covers the raw bytes, so the body must not be parsed before it is verified.
app.post("/plates", express.raw({ type: "*/*", limit: "1mb" }), async (request, response) => {
  try {
    verify(process.env.WEBHOOK_SECRET, request.headers, request.body);
    const event = parse(request.body);
    await seen.once(event.id, () => handle(event));
    response.sendStatus(204);
  } catch (error) {
    const status = error instanceof SignatureError ? 401 : error instanceof EventError ? 400 : 500;
    response.status(status).send(status === 500 ? "" : error.message);
  }
});

/** @param {import("@platestream/client/receiver").Event} event */
async function handle(event) {
  if (event.event === "recognition.created") {
    console.log(event.data.recognition.plate, "was read");
  } else if (event.event === "alert.triggered") {
    console.log(event.data.alert.name, event.data.recognition.plate);
  }
}

app.listen(process.env.PORT ?? 8080);
