"""Windows on a machine that has none: the official Windows CPythons, run by Wine.

Wine is an implementation of Windows, and not Windows: what passes here has been run by a Windows
Python against Windows' calls, and where Wine answers otherwise than Windows does, `limits` says so.
"""
