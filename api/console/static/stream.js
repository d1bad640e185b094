/** @file The event stream of recognitions. Fills gaps after an interruption. */

import { useEffect, useRef, useState } from "./html.js";
import { get, queryText } from "./api.js";
import { refreshSession } from "./session.js";

const DRAW_MS = 200;
const RETRY_SECONDS = 5;
const FILL_ROWS = 200;
const MARGIN_MS = 60_000;

/** @typedef {import("#api").components["schemas"]["RecognitionBody"]} Recognition */

/**
 * Passes new recognitions to `onRows`, newest first, in batches, each exactly once.
 *
 * @param {Record<string, string>} filter the stream's query
 * @param {(rows: Recognition[]) => void} onRows
 * @returns {"opening" | "open" | "reconnecting"}
 */
export function useStream(filter, onRows) {
  const [state, setState] = useState(/** @type {"opening" | "open" | "reconnecting"} */ ("opening"));
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
    // If the stream cannot be opened, recognitions are requested from shortly before this time.
    const startedAt = new Date(Date.now() - MARGIN_MS).toISOString();
    let wasInterrupted = false;
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
        // The list is unavailable too. The recognitions can be found by search later.
      }
    };
    const again = () => {
      source?.close();
      setState("reconnecting");
      wasInterrupted = true;
      clearTimeout(retry);
      retry = setTimeout(open, RETRY_SECONDS * 1000);
    };
    function open() {
      source = new EventSource(`/api/recognitions/stream${query}`);
      source.onopen = () => {
        setState("open");
        // A new source has no position to resume from. Some recognitions are late, so start a little earlier.
        if (newest || wasInterrupted) fill(newest ? new Date(Date.parse(newest) - MARGIN_MS).toISOString() : startedAt);
      };
      source.onmessage = (event) => take(JSON.parse(event.data));
      source.addEventListener("reset", (event) => fill(JSON.parse(event.data).since));
      source.addEventListener("end", () => {
        refreshSession().catch(() => {});
        again();
      });
      source.onerror = () => {
        setState("reconnecting");
        wasInterrupted = true;
        if (source?.readyState !== EventSource.CLOSED) return;
        refreshSession().catch(() => {});
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
