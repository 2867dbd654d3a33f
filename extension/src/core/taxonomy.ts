// Generated from src/eitr/taxonomy.py by scripts/extension_taxonomy.py: change it there.

/** One class: its name in files and on the wire, its badge, and the words people read. */
export interface Topic {
  readonly name: string;
  /** The letter on the badge; empty for pages that are not sensitive. */
  readonly letter: string;
  /** The badge's colour; white text on it has a contrast of at least 4.5:1. */
  readonly colour: string;
  readonly title: string;
  /** Completes the sentence "This page is about ...". */
  readonly about: string;
}

/** In the order every vector of probabilities uses. */
export const TOPICS: readonly Topic[] = [
  {
    name: "health",
    letter: "H",
    colour: "#b3261e",
    title: "Health",
    about: "health, illness or medical care",
  },
  {
    name: "politics",
    letter: "P",
    colour: "#1f5fae",
    title: "Politics",
    about: "political opinions, parties or elections",
  },
  {
    name: "religion",
    letter: "R",
    colour: "#6b4fa0",
    title: "Religion",
    about: "religious or philosophical beliefs",
  },
  {
    name: "sexual-orientation",
    letter: "S",
    colour: "#a8327e",
    title: "Sexual orientation",
    about: "sexual orientation or sex life",
  },
  {
    name: "ethnicity",
    letter: "E",
    colour: "#8a5200",
    title: "Ethnicity",
    about: "racial or ethnic origin",
  },
  {
    name: "non-sensitive",
    letter: "",
    colour: "#5f6368",
    title: "Not sensitive",
    about: "nothing that the GDPR calls sensitive",
  },
];

export const NON_SENSITIVE = 5;
