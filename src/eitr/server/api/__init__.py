"""Version 2 of the protocol between participants and server: `docs/http-protocol.md` describes it."""
