/** What a file of this text holds. */
export function octets(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
