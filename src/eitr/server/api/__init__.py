"""Version 1 of the protocol between participants and server: `docs/http-protocol.md` describes it."""
