"""Where the bytes of updates are kept until their round ends: a folder, or a bucket of an S3-compatible server.

The database knows who sent an update, when, and its SHA-256; an object holds the bytes of the updates that one
transaction stores. An object is on the disk before its rows are committed, so rows never point at nothing. An object
without rows, which a crash can leave, is deleted by the next sweep (`eitr.server.domain.update_bytes`).
"""
