"""The server put together: services are built, the applications are mounted, and the process starts and stops."""
