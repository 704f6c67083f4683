"""In endpoints of FastAPI under uvicorn: plain ones, in a thread pool, and an async one."""

import sys
import threading

import fastapi
import uvicorn

from conformance.hosts.asking import check_echo, free_port, wait_for
from mcpclient import sync

CLIENT = sync.connect([sys.executable, sys.argv[1]])
APP = fastapi.FastAPI()


def plain(word: str) -> str:
    return CLIENT.call_tool("echo", {"message": word}).text


async def inside(word: str) -> str:
    return CLIENT.call_tool("echo", {"message": word}).text


def main() -> None:
    APP.get("/plain")(plain)
    APP.get("/async")(inside)
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(APP, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(port)
        check_echo(port, "/plain")
        check_echo(port, "/async")
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
