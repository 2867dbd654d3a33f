"""Files: written atomically, read with limits, damage reported as an `InputError`."""
