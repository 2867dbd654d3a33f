import { expect, test } from "vitest";
import { sha256 } from "../src/core/hash";
import { bytes } from "./bytes";

test("the hash is that of the standard's example", async () => {
  expect(await sha256(bytes("abc"))).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("only the bytes of a view are hashed, not those around it", async () => {
  expect(await sha256(bytes("xabcx").subarray(1, 4))).toBe(await sha256(bytes("abc")));
});
