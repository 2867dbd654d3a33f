"""Millions of browsers and one server, as a discrete-event simulation: what breaks first, and what it costs.

`plan` says what is simulated, `population` who is online when, `stations` how requests wait, `simulation` what happens,
`scenarios` which plans `docs/scale.md` compares, and `report` makes its tables and figures.
"""
