"""Kill the worker in the middle of its work: at a call of the browser or a write to the disk, before it or after it."""

from dataclasses import dataclass
from typing import Literal

from .browser import Extension, until

STOP_AT = """([call, part, moment]) => {
  const never = () => new Promise(() => undefined);
  const nothing = new Proxy(function () {}, { get: () => nothing, set: () => true, apply: () => nothing });
  const stop = () => {
    self.stopped = true;
    return never();
  };
  const isIt = (name, given) => name === call && JSON.stringify(given).includes(part);
  const wrap = (owner, method) => {
    const real = owner[method].bind(owner);
    owner[method] = (...given) => {
      if (self.stopped) return never();
      if (!isIt(method, given)) return real(...given);
      return moment === "before" ? stop() : real(...given).then(stop);
    };
  };
  wrap(chrome.storage.session, "set");
  wrap(chrome.storage.session, "remove");
  wrap(chrome.declarativeNetRequest, "updateSessionRules");
  wrap(chrome.declarativeNetRequest, "updateDynamicRules");
  const begin = IDBDatabase.prototype.transaction;
  IDBDatabase.prototype.transaction = function (stores, mode, options) {
    if (self.stopped) return nothing;
    if (mode !== "readwrite" || !isIt("write", stores)) return begin.call(this, stores, mode, options);
    if (moment === "before") {
      stop();
      return nothing;
    }
    const real = begin.call(this, stores, mode, options);
    Object.defineProperty(real, "oncomplete", { set: () => real.addEventListener("complete", stop) });
    return real;
  };
}"""
"""From the step on nothing that the worker asks for happens or is answered, as if it were dead already."""


@dataclass(frozen=True)
class Step:
    """A step of the worker's work: a call whose arguments contain a text, or `write` to a store of the database."""

    call: Literal["set", "remove", "updateSessionRules", "updateDynamicRules", "write"]
    part: str
    moment: Literal["before", "after"]

    def __str__(self) -> str:
        return f"{self.moment} {self.call} {self.part}"


def both(call: Literal["set", "remove", "updateSessionRules", "updateDynamicRules", "write"], part: str) -> list[Step]:
    return [Step(call, part, "before"), Step(call, part, "after")]


def stop_at(extension: Extension, step: Step) -> None:
    """Let the worker get no further than to a step."""
    extension.worker_is_ready().evaluate(STOP_AT, [step.call, step.part, step.moment])


def kill_stopped(extension: Extension) -> None:
    """Kill the worker when it has come to the step."""
    worker = extension.worker()
    until(lambda: worker.evaluate("self.stopped === true"), what="the worker to come to the step")
    extension.kill_worker()
