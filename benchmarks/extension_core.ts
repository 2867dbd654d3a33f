/** The classifier as the worker has it, for measuring; bundled by `benchmarks/extension_worker.py`. */
export { readBody } from "../extension/src/core/reading";
export { readNetwork, probabilities } from "../extension/src/core/network";
export { vector } from "../extension/src/core/vector";
export { readVocabulary } from "../extension/src/core/vocabulary";
export { leadingWords } from "../extension/src/core/leading_words";
