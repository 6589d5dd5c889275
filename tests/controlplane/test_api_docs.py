"""The page of the API's operations."""

import subprocess
import sys

ASKED_AT_ONCE = """
import django; django.setup()
from concurrent.futures import ThreadPoolExecutor
from controlplane.api_docs import document
with ThreadPoolExecutor(4) as pool:
    made = [each.result() for each in [pool.submit(document) for _ in range(4)]]
assert made[0]["paths"] and all(each is made[0] for each in made)
"""


def test_the_first_people_who_open_it_at_once_all_see_it() -> None:
    subprocess.run([sys.executable, "-c", ASKED_AT_ONCE], check=True, timeout=300)
