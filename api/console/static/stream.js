/** @file The stream of recognitions: kept open, and filled up where it was interrupted. */

import { useEffect, useRef, useState } from "./html.js";
import { get, queryText } from "./api.js";
import { askWho } from "./session.js";

const DRAW_MS = 200;
const RETRY_SECONDS = 5;
const FILL_ROWS = 200;
const MARGIN_MS = 60_000;

/** @typedef {import("#api").components["schemas"]["RecognitionBody"]} Recognition */

/**
 * Gives new recognitions to `onRows`, newest first, several at once; each comes once.
 *
 * @param {Record<string, string>} filter the query of the stream
 * @param {(rows: Recognition[]) => void} onRows
 * @returns {"opening" | "open" | "away"}
 */
export function useStream(filter, onRows) {
  const [state, setState] = useState(/** @type {"opening" | "open" | "away"} */ ("opening"));
  const give = useRef(onRows);
  give.current = onRows;
  const query = queryText(filter);

  useEffect(() => {
    /** @type {EventSource | undefined} */
    let source;
    /** @type {number | undefined} */
    let retry;
    let isOver = false;
    let newest = "";
    // What comes while it cannot be opened at all is asked for from a little before this moment.
    const begun = new Date(Date.now() - MARGIN_MS).toISOString();
    let wasAway = false;
    /** @type {Recognition[]} */
    let fresh = [];
    const known = new Set();

    const take = (/** @type {Recognition} */ row) => {
      if (known.has(row.id)) return;
      known.add(row.id);
      if (known.size > 5000) known.delete(known.values().next().value);
      if (row.timestamp > newest) newest = row.timestamp;
      fresh.push(row);
    };
    const drawing = setInterval(() => {
      if (!fresh.length) return;
      const rows = fresh.sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1));
      fresh = [];
      give.current(rows);
    }, DRAW_MS);
    const fill = async (/** @type {string} */ from) => {
      try {
        const page = await get("/api/recognitions", { ...filter, from, limit: FILL_ROWS });
        if (!isOver) page.recognitions.forEach(take);
      } catch {
        // The list is not there either; who looks at the search finds them later.
      }
    };
    const again = () => {
      source?.close();
      setState("away");
      wasAway = true;
      clearTimeout(retry);
      retry = setTimeout(open, RETRY_SECONDS * 1000);
    };
    function open() {
      source = new EventSource(`/api/recognitions/stream${query}`);
      source.onopen = () => {
        setState("open");
        // A source of its own has no place to come back to. Some come late: from a little before.
        if (newest || wasAway) fill(newest ? new Date(Date.parse(newest) - MARGIN_MS).toISOString() : begun);
      };
      source.onmessage = (event) => take(JSON.parse(event.data));
      source.addEventListener("reset", (event) => fill(JSON.parse(event.data).since));
      source.addEventListener("end", () => {
        askWho().catch(() => {});
        again();
      });
      source.onerror = () => {
        setState("away");
        wasAway = true;
        if (source?.readyState !== EventSource.CLOSED) return;
        askWho().catch(() => {});
        again();
      };
    }
    open();
    return () => {
      isOver = true;
      source?.close();
      clearTimeout(retry);
      clearInterval(drawing);
    };
  }, [query]);
  return state;
}
