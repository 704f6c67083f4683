"""Logins: the runner of the flows in `auth`, the browser, the terminal and the stores."""
