"""A program that runs another; they tell their process ids as one line: child, then parent.

Run by ``sh -c``, that makes a tree of three. Arguments: ``--stubborn`` makes both ignore SIGINT,
SIGTERM and the end of their input; ``--orphan`` ends the parent with code 3 as soon as it gets
input and leaves the child behind; ``--escape`` gives the child a session of its own.
"""

import os
import signal
import sys
import time


def main(arguments: "list[str]") -> None:
    if "--stubborn" in arguments:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    else:
        # Python turns SIGINT into an exception, which comes too late for a read about to block.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = os.getpid()
    if os.fork() == 0:
        if "--escape" in arguments:
            os.setsid()
        os.write(1, b"%d %d\n" % (os.getpid(), parent))
        time.sleep(60)
    elif "--orphan" in arguments:
        os.read(0, 1)
        os._exit(3)
    elif "--stubborn" in arguments:
        time.sleep(60)
    else:
        os.read(0, 1)


if __name__ == "__main__":
    main(sys.argv[1:])
