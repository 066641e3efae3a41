"""`make specification`: check the models, and print a table of what TLC found.

    python -m specification                 every model
    python -m specification --quick         those that take seconds
    python -m specification NAME …          some of them; --trace prints TLC's output, with the
                                            states of a counter-example

Exits with 1 if a property does not hold, or if a rule that is broken on purpose breaks none.
"""

import argparse
import sys

from lockgate_testbed.errors import Missing
from specification.models import MODELS
from specification.tlc import check


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m specification", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to check (default: all)")
    parser.add_argument("--quick", action="store_true", help="leave out the models that take minutes")
    parser.add_argument("--trace", action="store_true", help="print TLC's output")
    chosen = parser.parse_args()
    unknown = set(chosen.names) - MODELS.keys()
    if unknown:
        parser.error(f"no model is named {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    models = [MODELS[name] for name in chosen.names or MODELS if not (chosen.quick and MODELS[name].long)]
    well = True
    print("| model | distinct states | processor seconds | result |\n|---|---|---|---|", flush=True)
    for model in models:
        try:
            found = check(model)
        except Missing as missing:
            print(f"TLC cannot run here: {missing}", file=sys.stderr)
            return 1
        well &= found.as_expected
        print(f"| {model.name} | {found.states:,} | {found.seconds:.0f} | {found.verdict} |", flush=True)
        if chosen.trace:
            print(found.output)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
