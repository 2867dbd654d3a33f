import { entities, getEntity } from "third-party-web/nostats-subset";
import { describe, expect, test } from "vitest";
import { trackers } from "../packing/data.mjs";
import { readHosts, readTrackers, trackerOf } from "../src/core/trackers";
import { bytes } from "./bytes";

const table = readTrackers(bytes(trackers()));

describe("companies", () => {
  test("a host's own entry goes before that of the domain above it", () => {
    expect(trackerOf(table, "accounts.google.com")).toEqual({ company: "Google", category: "utility" });
    expect(trackerOf(table, "stats.g.doubleclick.net")).toEqual({ company: "Google", category: "ad" });
    expect(trackerOf(table, "DOUBLECLICK.net.")?.category).toBe("ad");
  });

  test.each(["example.com", "notdoubleclick.net", "net", "", ".", "127.0.0.1", "a.".repeat(500)])(
    "nobody is behind %j",
    (host) => {
      expect(trackerOf(table, host)).toBeNull();
    },
  );

  test("every listed host, and one below it, belongs to whom third-party-web says", () => {
    const differing = [];
    for (const domain of entities.flatMap(({ domains }) => domains)) {
      const name = domain.replace("*.", "");
      for (const host of [name, `x.${name}`, `y.x.${name}`]) {
        const entity = getEntity(`https://${host}/`);
        const found = trackerOf(table, host);
        if (found?.company !== entity?.company || found?.category !== entity?.category) differing.push(host);
      }
    }
    expect(differing).toEqual([]);
  });

  test.each(["", "[]", "{}", '{"format":"eitr-trackers","version":1,"entities":[["a","b"]]}'])(
    "%j is no table",
    (text) => {
      expect(() => readTrackers(bytes(text))).toThrow();
    },
  );
});

describe("lists of a user", () => {
  test("hosts, hosts files and Adblock rules are understood, comments skipped, repeats dropped", () => {
    const lines = ["[Adblock Plus 2.0]", "! title", "# comment", "", "tracker.example\r", "0.0.0.0 ads.example # why"];
    lines.push("127.0.0.1\tspy.example", "127.0.0.1 localhost", "::1 ip6-localhost", "||beacon.example^");
    lines.push("||pixel.example^$third-party", "TRACKER.example.", "xn--bcher-kva.example");
    expect(readHosts(lines.join("\n"))).toEqual({
      hosts: [
        "tracker.example",
        "ads.example",
        "spy.example",
        "beacon.example",
        "pixel.example",
        "xn--bcher-kva.example",
      ],
      notUnderstood: 0,
    });
  });

  test.each([
    "||example.com/path^",
    "@@||example.com^",
    "example.com##.ad",
    "/ads.js",
    "*.example.com",
    "a b c",
    "1.2.3.4",
    "com",
    "-a.example",
    "<b>",
  ])("%j is counted as not understood", (line) => {
    expect(readHosts(line)).toEqual({ hosts: [], notUnderstood: 1 });
  });

  test("a list that is too long is refused", () => {
    expect(() => readHosts("a".repeat(5_000_001))).toThrow("5 MB");
    const hosts = Array.from({ length: 200_001 }, (_, n) => `h${n}.example`);
    expect(() => readHosts(hosts.join("\n"))).toThrow("200000 hosts");
    expect(readHosts(hosts.slice(1).join("\n")).hosts).toHaveLength(200_000);
  });

  test("lines made to be slow are read fast", () => {
    const start = performance.now();
    readHosts(
      `${"a-".repeat(500_000)}\n||${"a".repeat(500_000)}\n${"a.".repeat(500_000)}\n0.0.0.0${" ".repeat(500_000)}x y`,
    );
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
