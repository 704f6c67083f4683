"""Logins: the runner of the flows in `auth`, the browser, the terminal and the stores.

`authentication` turns a value of ``auth=`` into an authorizer of the `runner`. `logins` lead the
user to a page and back, with a `browser` or `terminal`. `storage` and `keychain` store tokens.
"""
