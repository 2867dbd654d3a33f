"""Headers that every answer carries, so that browsers trust it with as little as possible."""

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}

HTTPS_ONLY = {"Strict-Transport-Security": "max-age=31536000"}
"""Where the public address is https: for a year, browsers ask for this name by https only. Other names of the domain
are not ours to decide on."""
