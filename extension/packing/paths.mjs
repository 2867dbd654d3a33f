/** Where things lie. */
import { fileURLToPath } from "node:url";

const place = (path) => fileURLToPath(new URL(path, import.meta.url));

export const ROOT = place("../../");
export const SOURCE = place("../src/");
export const CORE = place("../src/core/");
export const ASSETS = place("../../src/eitr/assets/");
/** The unpacked extensions, one folder a browser. */
export const UNPACKED = place("../dist/");
/** The packages. */
export const PACKAGES = place("../../dist/");
