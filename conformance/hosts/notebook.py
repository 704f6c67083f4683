"""In a notebook, whose kernel has an event loop at work: executed by nbclient, in ipykernel."""

import sys

import nbformat
from nbclient import NotebookClient

CELLS = (
    f"""
import sys
sys.path.insert(0, {sys.path[0]!r})
import mcpclient
from mcpclient import sync
SERVER = [sys.executable, {sys.argv[1]!r}]
client = sync.connect(SERVER, stderr="discard")
print(client.call_tool("add", {{"a": 1, "b": 2}}).data)
""",
    """
echoed = []
def progressed(progress):
    echoed.append(client.call_tool("echo", {"message": "x"}).text)
print(client.call_tool("count", {"to": 3, "seconds": 0.01}, on_progress=progressed).text, echoed)
""",
    """
async with mcpclient.connect(SERVER, stderr="discard") as awaited:
    print((await awaited.call_tool("echo", {"message": "awaited"})).text)
print(client.call_tool("echo", {"message": "blocking"}).text)
""",
)


def main() -> None:
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    printed = [output["text"] for cell in notebook.cells for output in cell.outputs]
    expected = ["{'sum': 3}\n", "1 2 3 ['x', 'x', 'x']\n", "awaited\nblocking\n"]
    assert printed == expected, printed


if __name__ == "__main__":
    main()
