# SPDX-FileCopyrightText: The belfry authors
# SPDX-License-Identifier: Apache-2.0
"""Waits of the tests with real processes for what the processes do."""

import sys
import time


def fail(text):
    sys.exit(f"error: {text}")


def wait_until(is_true, what, seconds):
    end = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > end:
            fail(f"{what}: not after {seconds} s")
        time.sleep(0.01)


def wait_for(path, seconds):
    """Waits until the file exists; returns its text."""
    wait_until(path.exists, path.name, seconds)
    return path.read_text()
