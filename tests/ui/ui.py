"""The dashboard in a browser. Usage: ui.py PERDURE [NAME]

With a second argument, only the checks with this in their name.
"""
import sys

import suite
import pages  # noqa: F401
import webdriver

if len(sys.argv) > 2:
    suite.tests.tests = [t for t in suite.tests.tests if sys.argv[2] in t[0]]
try:
    suite.tests.finish()
finally:
    webdriver.end()
