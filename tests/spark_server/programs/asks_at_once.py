"""A user who asks for so many streams at once: what is said of each."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from streams import stream

STREAMS = int(sys.argv[4])

with ThreadPoolExecutor(STREAMS) as threads:
    asked = [threads.submit(lambda: len(stream(lockgate__align="true").schema)) for _ in range(STREAMS)]
print(json.dumps([each.result() for each in asked]))
