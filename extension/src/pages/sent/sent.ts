/** Every upload there ever was, in plain words. */

import { language, say } from "../../localise";
import { ask, type Sent } from "../../messages";
import { byId, dateAndTime, made, putTexts, trying } from "../shared/page";

const OCTETS_A_NUMBER = 2;

putTexts();
void trying(async () => {
  const { sent } = await ask("sent", {});
  byId("none", HTMLElement).hidden = sent.length > 0;
  byId("uploads", HTMLElement).replaceChildren(...sent.map(upload));
});

function upload(sent: Sent): HTMLElement {
  const number = new Intl.NumberFormat(language());
  const entry = made("li", "", "card");
  const facts = document.createElement("dl");
  const fact = (name: string, value: string, kind: "dd" | "code" = "dd") => {
    const text = made("dd");
    text.append(kind === "code" ? made("code", value) : value);
    facts.append(made("dt", say(name)), text);
  };
  fact("sent_server", sent.server);
  fact("sent_round", say("sent_round_value", String(sent.round), String(sent.base)));
  fact("sent_size", say("sent_size_value", number.format(sent.bytes)));
  fact("sent_hash", sent.sha256, "code");
  fact("sent_outcome", say(`sent_outcome_${sent.outcome}`));
  const numbers = number.format(sent.bytes / OCTETS_A_NUMBER);
  entry.append(
    made("h2", dateAndTime(sent.time)),
    made("p", say("sent_sentence", numbers, number.format(sent.pages))),
    facts,
  );
  return entry;
}
