/** SHA-256 of octets, as 64 hexadecimal digits. */
export async function sha256(octets: Uint8Array): Promise<string> {
  // A copy: the octets may lie in shared memory, which the digest refuses.
  const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(octets));
  return Array.from(new Uint8Array(digest), (octet) => octet.toString(16).padStart(2, "0")).join("");
}
