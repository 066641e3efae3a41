"""The command `python -m lockgate_spark doctor`: 0 if `align` works with this Spark, else 1."""

import sys

import lockgate_spark


def main(arguments: list[str]) -> int:
    """Run the command, and return its exit code. This is 2 for any command other than `doctor`."""
    if arguments != ["doctor"]:
        print("usage: python -m lockgate_spark doctor", file=sys.stderr)
        return 2
    found = lockgate_spark.doctor()
    print(found)
    return 0 if found.can_align else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
