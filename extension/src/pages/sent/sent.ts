/** Every upload there ever was, in plain words. */

import { language, say, topicTitle } from "../../localise";
import { ask, type Sent, type SentAnswer, type SentTerms } from "../../messages";
import { newsText } from "../shared/news_text";
import { byId, dateAndTime, newElement, putTexts, showingProblems } from "../shared/page";

const BYTES_PER_NUMBER = 2;

putTexts();
void showingProblems(async () => {
  const { sent, answers, terms, news } = await ask("sent", {});
  byId("news", HTMLElement).hidden = news === null;
  byId("news", HTMLElement).textContent = news === null ? "" : newsText(news);
  const ofStudies = [...terms.map(termReport), ...answers.map(taskAnswer)];
  byId("none", HTMLElement).hidden = sent.length > 0 || ofStudies.length > 0;
  byId("uploads", HTMLElement).replaceChildren(...sent.map(upload));
  byId("of-studies", HTMLElement).hidden = ofStudies.length === 0;
  byId("answers", HTMLElement).replaceChildren(...ofStudies);
});

function upload(sent: Sent): HTMLElement {
  const number = new Intl.NumberFormat(language());
  const kilobytes = new Intl.NumberFormat(language(), { maximumFractionDigits: 1 });
  const entry = newElement("li", "", "card");
  const facts = document.createElement("dl");
  const fact = (name: string, value: string, kind: "dd" | "code" = "dd") => {
    const text = newElement("dd");
    text.append(kind === "code" ? newElement("code", value) : value);
    facts.append(newElement("dt", say(name)), text);
  };
  fact("sent_server", sent.server);
  fact("sent_round", say("sent_round_value", String(sent.round), String(sent.base)));
  fact("sent_size", say("sent_size_value", kilobytes.format(sent.bytes / 1000), number.format(sent.bytes)));
  fact("sent_hash", sent.sha256, "code");
  fact("sent_outcome", say(`sent_outcome_${sent.outcome}`));
  if (sent.outcome !== "refused") fact("sent_result", resultOf(sent));
  const [numbers, pages] = [number.format(sent.bytes / BYTES_PER_NUMBER), number.format(sent.pages)];
  entry.append(
    newElement("h2", dateAndTime(sent.time)),
    newElement(
      "p",
      sent.cover === undefined
        ? say("sent_all_layers", numbers, pages)
        : say("sent_sentence", numbers, pages, number.format(sent.cover)),
    ),
    facts,
  );
  return entry;
}

function termReport({ time, server, words, pages, outcome }: SentTerms): HTMLElement {
  const number = new Intl.NumberFormat(language());
  return ofStudy(say("sent_terms", number.format(words), number.format(pages)), { time, server, outcome });
}

function taskAnswer({ time, server, number, state, label, outcome }: SentAnswer): HTMLElement {
  const said =
    label === null
      ? say(`sent_task_${state}`, String(number))
      : say("sent_task_class", String(number), topicTitle(label));
  return ofStudy(said, { time, server, outcome });
}

function ofStudy(said: string, { time, server, outcome }: Pick<Sent, "time" | "server" | "outcome">): HTMLElement {
  const entry = newElement("li", "", "card");
  const about = [dateAndTime(time), server, say(`sent_outcome_${outcome}`)].join(" · ");
  entry.append(newElement("p", said), newElement("p", about, "faint"));
  return entry;
}

/** What became of the round; known from the first new version of the model on. */
function resultOf({ result }: Sent): string {
  if (result === undefined) return say("sent_result_unknown");
  if (result.outcome === "not-published") return say("sent_result_none");
  return say(
    result.outcome === "published" ? "sent_result_published" : "sent_result_rolled_back",
    String(result.version),
  );
}
