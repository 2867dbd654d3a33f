"""How long the worker takes to classify a page, and how long training keeps it busy at a time."""

import statistics
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.extension_pages import news_rows
from benchmarks.extension_trace import traced
from eitr.pages import Page, tokens
from eitr.taxonomy import NAMES

ROOT = Path(__file__).resolve().parents[1]
PAGES = 64

CLASSIFY = """async ({ texts, runs }) => {
  const data = async (name) => new Uint8Array(await (await fetch(chrome.runtime.getURL(`data/${name}`))).arrayBuffer());
  const { layers } = JSON.parse(new TextDecoder().decode(await data("model.json")));
  const network = core.readNetwork(await data("weights.bin"), layers);
  const vocabulary = core.readVocabulary(await data("vocabulary.json"));
  const timed = (work) => {
    const start = performance.now();
    const found = work();
    return [performance.now() - start, found];
  };
  const median = (numbers) => numbers.sort((one, other) => one - other)[numbers.length >> 1];
  const tokens = (text) => core.readBody({ title: "", description: "", keywords: "", text }).tokens;
  const classify = (words) => core.probabilities(network, core.vector(words, vocabulary));
  const [cold] = timed(() => classify(tokens(texts[0])));
  return { cold, rows: texts.map((text) => {
    const row = { reading: [], classifying: [], explaining: [] };
    for (let run = 0; run < runs; run += 1) {
      const [reading, words] = timed(() => tokens(text));
      const [classifying, chances] = timed(() => classify(words));
      const topic = chances.indexOf(Math.max(...chances));
      const [explaining] = timed(() => core.leadingWords(network, vocabulary, words, topic));
      row.reading.push(reading); row.classifying.push(classifying); row.explaining.push(explaining);
    }
    return { reading: median(row.reading), classifying: median(row.classifying), explaining: median(row.explaining) };
  }) };
}"""
PUT = """([turn, pages]) => new Promise((done, failed) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("pages", "readwrite");
    change.objectStore("pages").clear();
    pages.forEach(([label, words], place) =>
      change.objectStore("pages").put({ page: `page ${turn} ${place}`, label, words, time: place, agreed: false }));
    change.oncomplete = () => { opening.result.close(); done(null) };
    change.onabort = () => failed(change.error);
  };
})"""


def classification(extension: Any, texts: list[str], runs: int = 15) -> dict[str, Any]:
    """Run the package's classifier in the extension's own worker; in milliseconds, medians of the runs."""
    worker = extension.worker_is_ready()
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "core.js"
        esbuild, core = ROOT / "node_modules/.bin/esbuild", ROOT / "benchmarks/extension_core.ts"
        options = ["--bundle", "--minify", "--format=iife", "--global-name=core", "--loader:.txt=text"]
        subprocess.run([esbuild, core, f"--outfile={bundle}", "--log-level=warning", *options], check=True)
        worker.evaluate(f"() => {{ {bundle.read_text('utf-8')}; globalThis.core = core }}")
    return worker.evaluate(CLASSIFY, {"texts": texts, "runs": runs})


@dataclass(frozen=True, slots=True)
class Learned:
    """Tasks of the worker during one round, in milliseconds."""

    tasks: int
    longest: float
    longest_cpu: float
    over: int
    seconds: float


def labelled_pages() -> list[tuple[int, list[tuple[str, int]]]]:
    """Return the words of made pages as the extension keeps them."""
    rows = news_rows(PAGES, "train")
    return [(NAMES.index(row["label"]), list(Counter(tokens(Page.from_row(row).content())).items())) for row in rows]


def training(extension: Any, server: Any, repeats: int = 3) -> list[Learned]:
    """Let the extension learn for some rounds, and look at the tasks of its worker."""
    pages = labelled_pages()
    found = []
    for turn in range(repeats):
        server.round = turn + 1
        # Other pages each time: a page is used in two rounds at most.
        extension.desk.evaluate(PUT, [turn, pages])
        with traced(extension.desk) as trace:
            view = extension.learn()
        last = view["learning"]["last"]
        if last != "learning_sent":
            raise RuntimeError(f"the round was not learned: {last}")
        threads = Counter(span.thread for span in trace.spans() if span.url.endswith("background/worker.js"))
        tasks = trace.tasks(threads.most_common(1)[0][0])
        span = (max(task.end for task in tasks) - min(task.start for task in tasks)) / 1000
        longest = [task.duration for task in tasks]
        found.append(
            Learned(len(tasks), max(longest), max(task.cpu for task in tasks), sum(one > 50 for one in longest), span)
        )
    return found


def summary(rows: list[dict[str, float]], *parts: str) -> tuple[float, float]:
    """Return median and largest of the sum of some parts."""
    sums = [sum(row[part] for part in parts) for row in rows]
    return statistics.median(sums), max(sums)
