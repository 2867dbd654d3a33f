/** Long work in slices of a few milliseconds, so that the browser stays responsive. */

const SLICE_MS = 8;

/** Let work go on for some milliseconds at a time, and return its result. */
export async function sliced<T>(work: Generator<unknown, T, void>): Promise<T> {
  let step = work.next();
  for (let end = performance.now() + SLICE_MS; !step.done; step = work.next()) {
    if (performance.now() < end) continue;
    await yieldToOthers();
    end = performance.now() + SLICE_MS;
  }
  return step.value;
}

/** Wait until everything else that is due has run. Faster than a timer, which the browser slows down. */
function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
