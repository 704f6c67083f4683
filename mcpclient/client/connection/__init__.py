"""One connection to one server: opened, used, renewed, opened again after a loss, and closed.

`Connection` lasts as long as its client. It owns the `Session` of the moment, which carries the
traffic over one transport, and replaces it after a loss. Both live in one event loop (`loops`).

A connection's state follows from the session and from what its owner has asked for:

=============  =================================================  =========  ==============
State          Known by                                           `is_open`  `is_connected`
=============  =================================================  =========  ==============
unopened       there is no session                                no         no
opening        ``_connecting`` is the session to be               as before  as before
open           ``session.ended`` is None                          yes        yes
unreachable    and ``transport.unreachable`` says why             yes        no
expired        and ``session.expired`` is the server's refusal    yes        yes
refused        and ``_is_forgotten``: the server gave no other    yes        no
lost           ``session.ended`` is the reason                    no         no
closed         ``_closed``                                        no         no
=============  =================================================  =========  ==============

Who moves it from state to state:

- `Connection.open` (connect): unopened, unreachable, refused, lost or closed → opening → open. One
  lock lets concurrent callers share one attempt; `claim_loop` takes ``_closed`` back before it. An
  earlier session that may still reach the server is left only once another one is open.
- The transport calls `Session.connection_lost`: → lost. A later call raises the reason; `restore`
  (subscriptions, waits for tasks) or `open` (the caller, the manager) connects again.
- The transport calls `Session.channel_lost` with `SessionExpired`: → expired. A keep-alive ping
  that is refused so does the same. Any other error costs the server's own channel alone.
- `Connection.renew`, for a call that met the expiry: expired → open, or → refused. The lock and
  ``generation`` let calls that met the same expiry share one renewal and its failure.
- `Connection.close` and `abort`: → closed, from every state and in the middle of every attempt.

Who cancels what:

- A caller who is cancelled cancels one request: `Session.answer_to` tells the server, as the era
  wants it. Cancelling `open` closes the session to be and leaves nothing running.
- A session that ends, by loss or close, fails every call in flight with the reason, cancels the
  callbacks and the answers to the server, and what still opens it (`Session.opening`).
- Another handshake on the same transport (`begin_anew`) withdraws only the answers to the server:
  its ids begin anew, so an answer would be taken for that to another question.
- The end of the event loop (`LoopEnd`) frees everything in it while it still runs.

Time is kept in three places, all of which stand still while a human is asked: `limits.Deadlines`
has the one timer for the requests of a session, `call_recovery.CallDeadline` the limit of a call
that takes several requests, and `opening.Opening` the time for connecting. `limits.Timeouts` says
how long each may take.
"""
