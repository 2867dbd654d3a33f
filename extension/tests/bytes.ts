/** What a file of this text holds. */
export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
