/** What came from outside (a page, a server, a file) is not what it has to be; the message is a plain sentence. */
export class BadInput extends Error {
  override readonly name = "BadInput";
}
