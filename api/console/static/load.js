/** @file Data of a page: stays visible while it is reloaded, and is retried while the server is unavailable. */

import { useCallback, useEffect, useRef, useState } from "./html.js";
import { Failure } from "./api.js";
import { logIns } from "./session.js";
import { useSignal } from "./signal.js";

const RETRY_SECONDS = [2, 5, 10, 20];

/**
 * Loads data for a component, and reloads it when `inputs` change or `reload` is called.
 *
 * A temporary failure is retried after a delay. Data from before stays visible.
 *
 * @template T
 * @param {(abort: AbortSignal) => Promise<T>} read
 * @param {readonly unknown[]} inputs
 * @param {{everySeconds?: number}} [options] reload interval while the page is visible
 * @returns {{data: T | null, failure: Failure | null, isLoading: boolean, reload: () => void, change: (change: (data: T) => T) => void}}
 */
export function useLoad(read, inputs, { everySeconds = 0 } = {}) {
  const [state, setState] = useState({ data: /** @type {T | null} */ (null), failure: /** @type {Failure | null} */ (null), isLoading: true });
  const [round, setRound] = useState(0);
  const logIn = useSignal(logIns);
  const failures = useRef(0);
  const reader = useRef(read);
  reader.current = read;
  const of = JSON.stringify(inputs);
  const last = useRef(of);

  useEffect(() => {
    const abort = new AbortController();
    /** @type {number | undefined} */
    let timer;
    const again = (/** @type {number} */ seconds) => {
      timer = setTimeout(() => (document.hidden ? again(seconds) : setRound((count) => count + 1)), seconds * 1000);
    };
    // The inputs changed, so the shown data no longer applies.
    const isOther = last.current !== of;
    last.current = of;
    setState((before) => ({ data: isOther ? null : before.data, failure: isOther ? null : before.failure, isLoading: true }));
    reader.current(abort.signal).then(
      (data) => {
        if (abort.signal.aborted) return;
        failures.current = 0;
        setState({ data, failure: null, isLoading: false });
        if (everySeconds) again(everySeconds);
      },
      (error) => {
        if (abort.signal.aborted) return;
        if (!(error instanceof Failure)) throw error;
        setState((before) => ({ ...before, failure: error, isLoading: false }));
        if (error.passes) again(error.retryAfter || RETRY_SECONDS[Math.min(failures.current++, 3)]);
      },
    );
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [of, round, logIn]);

  const reload = useCallback(() => setRound((count) => count + 1), []);
  const change = useCallback(
    (/** @type {(data: T) => T} */ make) =>
      setState((before) => (before.data === null ? before : { ...before, data: make(before.data) })),
    [],
  );
  return { ...state, reload, change };
}

/**
 * Returns whether everything on a page has loaded or failed, so that content below it no longer moves.
 * @param {...{data: unknown, failure: unknown}} read
 */
export const isKnown = (...read) => read.every(({ data, failure }) => data !== null || failure !== null);

/**
 * Runs one action at a time, and returns how it failed.
 * @returns {{isBusy: boolean, failure: Failure | null, run: (work: () => Promise<unknown>) => Promise<boolean>, clear: () => void}}
 */
export function useAction() {
  const [state, setState] = useState({ isBusy: false, failure: /** @type {Failure | null} */ (null) });
  const run = useCallback(async (/** @type {() => Promise<unknown>} */ work) => {
    setState({ isBusy: true, failure: null });
    try {
      await work();
      setState({ isBusy: false, failure: null });
      return true;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      setState({ isBusy: false, failure: error });
      return false;
    }
  }, []);
  const clear = useCallback(() => setState({ isBusy: false, failure: null }), []);
  return { ...state, run, clear };
}

/**
 * Calls a function repeatedly while the component is shown.
 * @param {() => void} work
 * @param {number} seconds
 */
export function useEvery(work, seconds) {
  const worker = useRef(work);
  worker.current = work;
  useEffect(() => {
    const timer = setInterval(() => worker.current(), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}
