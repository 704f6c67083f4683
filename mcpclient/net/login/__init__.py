"""Logins: the runner of the flows in `auth`, and what it needs of this machine.

`authentication` turns a value of ``auth=`` into an authorizer of the `runner`; `logins` lead the
user to a page and back, through a `browser` or `terminal`; `storage` and `keychain` keep tokens.
"""
