/**
 * What is kept on this machine, in IndexedDB: content scripts cannot reach it, whereas Firefox lets them read
 * `storage.local`. The worker is the only one that opens it, and it may be killed at any moment, so everything that
 * belongs together is written in one transaction.
 */

export type Store = "kept" | "model" | "pages" | "uses" | "sent" | "answers" | "hosts" | "seen" | "visits" | "lists";

const NAME = "eitr";
const VERSION = 5;

let opened: Promise<IDBDatabase> | null = null;

function open(): Promise<IDBDatabase> {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = ({ oldVersion }) => {
      const database = request.result;
      if (oldVersion < 1) {
        database.createObjectStore("kept");
        database.createObjectStore("model");
        database.createObjectStore("pages", { keyPath: "page" });
        database.createObjectStore("sent", { keyPath: ["server", "round"] });
        database.createObjectStore("hosts", { keyPath: "host" });
        database.createObjectStore("lists", { keyPath: "name" });
      }
      if (oldVersion < 2) {
        database.createObjectStore("uses", { keyPath: "page" });
        // An update that waits since version 0.1 gives the words of its pages away, and must not be sent any more.
        request.transaction!.objectStore("kept").delete("outbox");
      }
      if (oldVersion < 3) database.createObjectStore("answers", { keyPath: ["server", "task", "step"] });
      if (oldVersion < 4) {
        // Earlier versions remembered a host for one page.
        request.transaction!.objectStore("hosts").clear();
        // What was seen of each host, and which companies were on which sensitive pages.
        database.createObjectStore("seen", { keyPath: "host" });
        database.createObjectStore("visits", { autoIncrement: true });
      }
      // What the person said of the pages of a host.
      request.transaction!.objectStore("pages").createIndex("host", ["host", "label"]);
    };
    request.onsuccess = () => {
      // Another opening or a deletion must not wait for us.
      request.result.onversionchange = () => close();
      resolve(request.result);
    };
    request.onerror = () => {
      opened = null;
      reject(request.error ?? new Error("the database cannot be opened"));
    };
  });
  return opened;
}

function close(): void {
  void opened?.then((database) => database.close());
  opened = null;
}

/** Return the result of one request that reads. */
export async function read<T>(store: Store, ask: (store: IDBObjectStore) => IDBRequest): Promise<T> {
  const database = await open();
  return new Promise((resolve, reject) => {
    const request = ask(database.transaction(store).objectStore(store));
    request.onsuccess = () => resolve(request.result as T);
    request.onerror = () => reject(request.error ?? new Error("reading failed"));
  });
}

/** Write to several stores, all or nothing, and return when it is on the disk. */
export async function write(stores: Store[], change: (of: (store: Store) => IDBObjectStore) => void): Promise<void> {
  const database = await open();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(stores, "readwrite", { durability: "strict" });
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("writing was given up"));
    change((store) => transaction.objectStore(store));
  });
}

/** Return a single value by its name. */
export function readKept<T>(name: string): Promise<T | undefined> {
  return read<T | undefined>("kept", (store) => store.get(name));
}

export function writeKept(name: string, value: unknown): Promise<void> {
  return write(["kept"], (of) => of("kept").put(value, name));
}

export async function deleteDatabase(): Promise<void> {
  const database = await open();
  database.close();
  opened = null;
  await new Promise<void>((resolve, reject) => {
    const request = indexedDB.deleteDatabase(NAME);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error ?? new Error("deleting failed"));
  });
}
