"""The distributions: wheel, source archive and single file, the same bytes wherever made.

The project builds itself: `backend` is what ``pip`` calls, and needs nothing but Python. So the
source archive can be installed without a network, too.
"""
