"""Writes exchanges.json as the service answers now. What differs afterwards is a change of the
protocol: docs/internals/protocol.md has to say it.
"""

import asyncio

from .recording import FILE, recorded, written

if __name__ == "__main__":
    FILE.write_text(written(asyncio.run(recorded())), encoding="utf-8")
    print(f"{FILE} is written: look at git diff")
