"""The server: it publishes models, receives updates and runs rounds.

composition  builds the application from the other packages, and starts and stops it
api          HTTP for participants, answered with JSON documents
dashboard    HTTP for operators, answered with pages
operations   HTTP for monitoring
web          what these three share: middleware, problems, the guarded HTTP protocol
domain       participants, rounds, updates, models, operators; knows no HTTP
db           tables, connections, migrations
settings     what an operator can set

Each may use only what is below it; `make test` checks that. The mathematics is not here: rules come from
`eitr.aggregation`.
"""
