"""What all HTTP applications of the server share: middleware, problems, dependencies and the guarded HTTP protocol."""
