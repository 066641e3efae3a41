"""The command `python -m lockgate_spark doctor`. It exits with 0 if `align` works with this Spark,
and with 1 if not.
"""

import sys

import lockgate_spark


def main(arguments: list[str]) -> int:
    """Run the command. Return 2 if it is any other one than `doctor`."""
    if arguments != ["doctor"]:
        print("usage: python -m lockgate_spark doctor", file=sys.stderr)
        return 2
    found = lockgate_spark.doctor()
    print(found)
    return 0 if found.can_align else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
