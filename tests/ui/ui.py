"""The dashboard in a browser. Usage: ui.py PERDURE [TEXT]

With a second argument, only the checks with this in their name.
"""
import sys

import suite
import access  # noqa: F401
import deeds  # noqa: F401
import hostile  # noqa: F401
import lists  # noqa: F401
import live  # noqa: F401
import pages  # noqa: F401
import trouble  # noqa: F401
import walk  # noqa: F401
import webdriver

if len(sys.argv) > 2:
    suite.tests.tests = [t for t in suite.tests.tests if sys.argv[2] in t[0]]
try:
    suite.tests.finish()
finally:
    webdriver.end()
