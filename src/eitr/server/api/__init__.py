"""Version 1 of the protocol between participants and server: `docs/protocol.md` describes it."""
