"""Send back what comes in, and end with the input.

Arguments: ``--say TEXT`` writes a line to stderr first; ``--exit CODE`` ends at once.
"""

import os
import sys


def main(arguments: "list[str]") -> int:
    if "--say" in arguments:
        os.write(2, arguments[arguments.index("--say") + 1].encode() + b"\n")
    if "--exit" in arguments:
        return int(arguments[arguments.index("--exit") + 1])
    while True:
        data = os.read(0, 65536)
        if not data:
            return 0
        while data:
            data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
