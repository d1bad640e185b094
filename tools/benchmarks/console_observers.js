// What the browser itself notes of a page: put into it before its own modules run.
(() => {
  const seen = { content: 0, shifted: 0, longest: 0, delay: 0, painted: 0, gap: 0, gaps: 0, frames: 0, shown: {}, shifts: [] };
  window.__seen = seen;
  const observe = (type, note, options = {}) => new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true, ...options });
  observe("paint", (entry) => { if (entry.name === "first-contentful-paint") seen.content = entry.startTime; });
  observe("layout-shift", (entry) => {
    // The newest pass stands on top: that those below make room is what the list is for.
    const isOfList = entry.sources.length > 0 && entry.sources.every((one) => one.node?.parentElement?.closest(".passes"));
    if (entry.hadRecentInput || isOfList) return;
    seen.shifted += entry.value;
    seen.shifts.push({ value: entry.value, at: entry.startTime, what: entry.sources.map((one) => one.node?.className || one.node?.nodeName).join(" ") });
  });
  observe("longtask", (entry) => { seen.longest = Math.max(seen.longest, entry.duration); });
  observe("event", (entry) => {
    seen.delay = Math.max(seen.delay, entry.processingStart - entry.startTime);
    seen.painted = Math.max(seen.painted, entry.duration);
  }, { durationThreshold: 16 });

  // Passes of the live view, by id: when the frame came that shows them. In Unix ms.
  const fresh = [];
  const isPass = (node) => node.nodeType === 1 && node.classList.contains("pass");
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) {
      for (const pass of isPass(node) ? [node] : (node.querySelectorAll?.(".pass") ?? [])) fresh.push(pass.querySelector("a").pathname.split("/").at(-1));
    }
  }).observe(document, { childList: true, subtree: true });
  let last = 0;
  seen.begin = () => Object.assign(seen, { gap: 0, gaps: 0, frames: 0 });
  seen.skip = () => { last = 0; };
  const frame = (now) => {
    const at = performance.timeOrigin + performance.now();
    for (const id of fresh.splice(0)) seen.shown[id] ??= at;
    if (last) {
      seen.frames += 1;
      seen.gap = Math.max(seen.gap, now - last);
      if (now - last > 100) seen.gaps += 1;
    }
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})();
