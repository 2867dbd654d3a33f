/**
 * A ZIP archive that is the same bytes for the same files: entries by name, all from 1980-01-01, nothing about the
 * machine. (Deflate is zlib's, so another Node.js may pack a little differently.)
 */
import { crc32, deflateRawSync } from "node:zlib";

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50];
/** The version of the format that knows deflate. */
const VERSION = 20;
const DEFLATE = 8;
/** The first day that the format can name. */
const DAY = (1 << 5) | 1;

/** The archive of [name, bytes] pairs. */
export function zip(files) {
  const sorted = [...files].sort(([one], [other]) => (one < other ? -1 : 1));
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [name, bytes] of sorted) {
    const packed = deflateRawSync(bytes, { level: 9 });
    const title = Buffer.from(name, "ascii");
    const about = describe(title, bytes, packed);
    const local = Buffer.concat([uint32(LOCAL), about, title]);
    directory.push(Buffer.concat([uint32(CENTRAL), uint16(VERSION), about, Buffer.alloc(10), uint32(offset), title]));
    parts.push(local, packed);
    offset += local.length + packed.length;
  }
  const central = Buffer.concat(directory);
  const count = uint16(sorted.length);
  const end = [uint32(END), uint32(0), count, count, uint32(central.length), uint32(offset), uint16(0)];
  return Buffer.concat([...parts, central, ...end]);
}

/** What an entry has both before its data and in the directory: version, flags, method, time, day, and so on. */
function describe(title, bytes, packed) {
  return Buffer.concat([
    ...[VERSION, 0, DEFLATE, 0, DAY].map(uint16),
    ...[crc32(bytes), packed.length, bytes.length].map(uint32),
    ...[title.length, 0].map(uint16),
  ]);
}

function uint16(number) {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(number);
  return bytes;
}

function uint32(number) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}
