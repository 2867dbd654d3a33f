/** Text files are compiled in as strings (esbuild's text loader; a plugin does it for vitest). */
declare module "*.txt" {
  const text: string;
  export default text;
}
