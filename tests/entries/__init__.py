"""The tests of mcpclient.entries."""
