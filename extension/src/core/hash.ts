/** SHA-256 of bytes, as 64 hexadecimal digits. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  // A copy: the bytes may lie in shared memory, which the digest refuses.
  const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(bytes));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
