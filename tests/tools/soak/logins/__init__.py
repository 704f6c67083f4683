"""Logins under kills: many users, several processes, one store, and which login is lost."""
