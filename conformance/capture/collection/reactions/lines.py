"""Lines of stdio: without an end, with too much in them, and cut off by the end of the server."""

from __future__ import annotations

from conformance.capture.collection.reactions.parts import (
    ANSWER,
    HELLO,
    PING,
    USUAL,
    Plan,
    Reaction,
    Reply,
    reaction,
)

_TOO_LONG = "stdio: messages are lines; one that is over the limit of a client is not taken."
_ENDED = "stdio: messages are lines; at the end of a server, the last may lack its end."
_LONG = "x" * 2500
_HEAD = '{"jsonrpc":"2.0","id":2,"result":{"content":[],"a":"'

SESSIONS: tuple[Reaction, ...] = (
    *(
        reaction(
            f"begins-a-line-{name}",
            _TOO_LONG,
            Plan({"tools/call": (Reply(events=begun), USUAL), "ping": (Reply(events=rest), USUAL)}),
            HELLO,
            PING,
            HELLO,
            PING,
            transports="stdio",
            client={"options": {"max_message_size": 2000}},
        )
        for name, begun, rest in (
            (
                "that-names-its-answer-at-the-end",
                ('{"jsonrpc":"2.0","result":{"a":"' + _LONG, '"},"id":2}\n'),
                (ANSWER,),
            ),
            ("of-nothing", (_LONG, "\n", ANSWER), (ANSWER,)),
            ("of-blanks", (" \n\t\n\r\n", ANSWER), (" ", ANSWER)),
        )
    ),
    *(
        reaction(
            f"exits-{name}",
            _ENDED,
            Plan({"tools/call": (Reply(events=(said,), cut=True),)}),
            HELLO,
            HELLO,
            transports="stdio",
        )
        for name, said in (
            ("after-an-answer-without-end", f'{_HEAD}"}}}}'),
            ("within-an-answer", _HEAD),
            ("after-a-word", "bye"),
            ("after-an-answer", f'{_HEAD}"}}}}\n'),
        )
    ),
)
