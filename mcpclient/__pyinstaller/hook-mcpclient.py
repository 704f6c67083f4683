"""Modules and data that a frozen program with this package needs: PyInstaller runs this file."""

import os

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FILES = [os.path.join(root, name) for root, _, names in os.walk(_FOLDER) for name in names]

hiddenimports = [
    os.path.relpath(path, os.path.dirname(_FOLDER))[: -len(".py")].replace(os.sep, ".")
    for path in _FILES
    if path.endswith(".py") and "-" not in path[len(_FOLDER) :]
]
hiddenimports = [name.removesuffix(".__init__") for name in hiddenimports]
# Programs that another Python runs, from their source.
_PROGRAMS = tuple(
    os.path.join(*name)
    for name in (("code", "program.py"), ("sandbox", "launcher.py"), ("sandbox", "restrictions.py"))
)
datas = [
    (path, os.path.relpath(os.path.dirname(path), os.path.dirname(_FOLDER)))
    for path in _FILES
    if path.endswith(_PROGRAMS) or not path.endswith((".py", ".pyi", ".pyc"))
]
