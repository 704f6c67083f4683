"""Log in by Kerberos at servers and proxies of Debian, with tickets of a real KDC.

Needed on PATH: krb5-kdc, krb5-admin-server and krb5-user; apache2 with libapache2-mod-auth-gssapi,
and squid. All of it runs in a folder of its own, on loopback ports, and ends with the check.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ctypes
import hashlib
import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Awaitable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Callable, NamedTuple

import mcpclient
from conformance import traces
from conformance.results import FAILED, LEFT_OUT, PASSED, STREAMABLE_HTTP, Row
from conformance.workspace import free_port, wait_until_it_listens
from mcpclient.net import kerberos as contexts
from mcpclient.net.kerberos import Handshake, challenge_in
from tests.net.mcp_over_http import McpOverHttp
from tests.net.peers import serve

LIMIT = 60  # seconds for one row
REALM = "EXAMPLE.TEST"
PATHS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/squid"])
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit", "apache2", "openssl")
APACHE_MODULES = (
    *("mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi"),
    *("proxy", "proxy_http", "proxy_connect", "ssl"),
)
CHANNEL_BOUND = 0x800  # GSS_C_CHANNEL_BOUND_FLAG of MIT Kerberos 1.19


class Place(NamedTuple):
    """The set-up: a folder with the keytab and a certificate, and the ports of Apache and Squid."""

    folder: Path
    backend: int
    http: int
    https: int
    proxy: int
    squid: int

    @property
    def certificate(self) -> str:
        return str(self.folder / "certificate.pem")


def run() -> Iterator[Row]:
    """Log in everywhere, and yield one row for each place."""
    row = partial(Row, "authorized", transport=STREAMABLE_HTTP)
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATHS) is None]
    if missing:
        yield row("Negotiate", LEFT_OUT, f"not on PATH: {', '.join(missing)}")
        return
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(_place())
        for name, work in WAYS.items():
            if work is log_in_at_squid and not place.squid:
                yield row(name, LEFT_OUT, "squid and negotiate_kerberos_auth are not on PATH")
                continue
            try:
                asyncio.run(asyncio.wait_for(work(place), LIMIT))
            except Exception as error:
                yield row(name, FAILED, f"{type(error).__name__}: {error}", checks=1)
            else:
                yield row(name, PASSED, checks=1, held=1)


async def _call(url: str, place: Place, **options: Any) -> None:
    options["trace"] = traces.new("authorized")
    async with mcpclient.connect(url, ca_file=place.certificate, **options) as client:
        calls = [client.call_tool("echo", {"text": str(number)}) for number in range(10)]
        found = [done.text for done in await asyncio.gather(*calls)]
        assert found == [str(number) for number in range(10)], found


def _expect(hint: str, part: str) -> None:
    assert part in hint, hint


async def log_in_over_http(place: Place) -> None:
    async with serve(McpOverHttp().handle, port=place.backend):
        await _call(f"http://localhost:{place.http}/mcp", place, auth=mcpclient.Negotiate())


async def log_in_over_https(place: Place) -> None:
    async with serve(McpOverHttp().handle, port=place.backend):
        await _call(f"https://localhost:{place.https}/mcp", place, auth=mcpclient.Negotiate())


async def _through(port: int, place: Place) -> None:
    options: dict[str, Any] = {"proxy": f"http://localhost:{port}"}
    async with serve(McpOverHttp().handle, port=place.backend):
        for url in (
            f"http://localhost:{place.backend}/mcp",
            f"https://localhost:{place.https}/mcp",
        ):
            auth = mcpclient.Negotiate() if url.startswith("https") else None
            await _call(url, place, auth=auth, proxy_auth=mcpclient.Negotiate(), **options)
        try:
            await _call(f"https://localhost:{place.https}/mcp", place, **options)
        except mcpclient.ConnectFailed as error:
            _expect(error.hint, "proxy_auth=mcpclient.Negotiate()")
        else:
            raise AssertionError("the proxy did not ask for a login")


async def log_in_at_apache_as_proxy(place: Place) -> None:
    await _through(place.proxy, place)


async def log_in_at_squid(place: Place) -> None:
    await _through(place.squid, place)


async def say_what_a_server_wants(place: Place) -> None:
    try:
        await _call(f"http://localhost:{place.http}/mcp", place)
    except mcpclient.HttpError as error:
        _expect(error.hint, "auth=mcpclient.Negotiate()")
    else:
        raise AssertionError("the server did not ask for a login")


async def fail_without_a_ticket(place: Place) -> None:
    for host, tickets in (("nowhere.example", None), ("localhost", "FILE:/nonexistent/tickets")):
        with _environment({} if tickets is None else {"KRB5CCNAME": tickets}):
            try:
                await Handshake(mcpclient.Negotiate(), host, b"").answer()
            except mcpclient.AuthError as error:
                _expect(error.hint, "klist")
            else:
                raise AssertionError(f"there was a ticket for {host}")


async def bind_to_the_certificate(place: Place) -> None:
    """Meet an acceptor of the same library, which says whether both bindings are the same."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place.certificate, place.folder / "key.pem")
    server = Acceptor(place.certificate)
    with _environment({"KRB5_KTNAME": f"FILE:{place.folder / 'keytab'}"}):
        async with serve(server.handle, tls=context) as port:
            await _call(f"https://localhost:{port}/mcp", place, auth=mcpclient.Negotiate())
    bound = [bool(flags & CHANNEL_BOUND) for flags in server.flags]
    assert set(bound) == {True}, bound


WAYS: dict[str, Callable[[Place], Awaitable[None]]] = {
    "Negotiate at Apache over http": log_in_over_http,
    "Negotiate at Apache over https": log_in_over_https,
    "Negotiate at Apache as a proxy": log_in_at_apache_as_proxy,
    "Negotiate at Squid": log_in_at_squid,
    "Negotiate: the hint of a refusal": say_what_a_server_wants,
    "Negotiate without a ticket": fail_without_a_ticket,
    "Negotiate bound to the certificate": bind_to_the_certificate,
}


class Acceptor(McpOverHttp):
    """A server that accepts users by GSSAPI. ``flags``: the flags of each login."""

    def __init__(self, certificate: str) -> None:
        super().__init__()
        der = ssl.PEM_cert_to_DER_cert(Path(certificate).read_text("ascii"))
        self._binding = b"tls-server-end-point:" + hashlib.sha256(der).digest()
        self.flags: list[int] = []

    def check(self, head: str) -> tuple[bool, str]:
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
        token = challenge_in(fields.get("Authorization", ""))
        if not token:
            return False, "Negotiate"
        library, by, address = contexts.gssapi_library(), ctypes.byref, ctypes.c_void_p
        minor, flags = ctypes.c_uint32(), ctypes.c_uint32()
        acceptor, made = address(), contexts._GssBuffer()
        given = contexts._GssBuffer.of(token)
        bindings = contexts._Bindings(application=contexts._GssBuffer.of(self._binding))
        major = library.gss_accept_sec_context(
            *(by(minor), by(acceptor), None, by(given), by(bindings), None, None),
            *(by(made), by(flags), None, None),
        )
        assert major == 0, f"gss_accept_sec_context: {major:#x}"
        self.flags.append(flags.value)
        answer = base64.b64encode(ctypes.string_at(made.value, made.length)).decode()
        return True, f"Negotiate {answer}"


@contextlib.contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _program(name: str) -> str:
    found = shutil.which(name, path=PATHS)
    assert found is not None, name
    return found


def _run(*words: str, text: str = "") -> None:
    done = subprocess.run(
        [_program(words[0]), *words[1:]], input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{words[0]}: {done.stderr or done.stdout}"


@contextlib.contextmanager
def _process(port: int, words: Sequence[str]) -> Iterator[None]:
    process = subprocess.Popen(
        [_program(words[0]), *words[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        try:
            wait_until_it_listens(process, port)
        except RuntimeError as error:
            process.kill()
            raise RuntimeError(f"{words[0]}: {process.stderr.read().decode()}") from error
        yield
    finally:
        process.terminate()  # This ends their workers, too.
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stderr.close()


@contextlib.contextmanager
def _place() -> Iterator[Place]:
    kdc = free_port()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)  # Apache and Squid become another user
        ports = [free_port() for _ in range(5)]
        place = Place(folder, *ports)
        _start_realm(stack, folder, kdc)
        _start_apache(stack, place)
        if not _start_squid(stack, place):
            place = place._replace(squid=0)
        yield place


def _start_realm(stack: contextlib.ExitStack, folder: Path, kdc: int) -> None:
    _write(folder, "krb5.conf", KRB5.format(realm=REALM, kdc=kdc, folder=folder))
    prefix = Path(_program("krb5kdc")).parents[1]
    plugins = next(prefix.glob("lib/*/krb5/plugins/kdb"), prefix)
    _write(folder, "kdc.conf", KDC.format(realm=REALM, kdc=kdc, folder=folder, plugins=plugins))
    stack.enter_context(
        _environment(
            {
                "KRB5_CONFIG": str(folder / "krb5.conf"),
                "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
                "KRB5CCNAME": f"FILE:{folder / 'tickets'}",
                "KRB5RCACHETYPE": "none",
            }
        )
    )
    _run("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
    for query in (
        "addprinc -pw secret user",
        "addprinc -randkey HTTP/localhost",
        f"ktadd -k {folder / 'keytab'} HTTP/localhost",
    ):
        _run("kadmin.local", "-q", query)
    (folder / "keytab").chmod(0o644)
    stack.enter_context(_process(kdc, ["krb5kdc", "-n"]))
    _run("kinit", "user", text="secret\n")


def _start_apache(stack: contextlib.ExitStack, place: Place) -> None:
    folder = place.folder
    _run(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
        *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
        *("-keyout", str(folder / "key.pem"), "-out", place.certificate),
    )
    modules = Path(_program("apache2")).parents[1] / "lib" / "apache2" / "modules"
    loads = "\n".join(f"LoadModule {x}_module {modules}/mod_{x}.so" for x in APACHE_MODULES)
    user = "User nobody" if os.geteuid() == 0 else ""
    _write(folder, "apache.conf", APACHE.format(place=place, loads=loads, user=user))
    words = ["apache2", "-f", str(folder / "apache.conf"), "-D", "FOREGROUND"]
    stack.enter_context(_process(place.http, words))


def _start_squid(stack: contextlib.ExitStack, place: Place) -> bool:
    """Start Squid, if this machine has it and its Kerberos helper."""
    squid, folder = shutil.which("squid", path=PATHS), place.folder
    helper = shutil.which("negotiate_kerberos_auth", path=PATHS)
    if not squid or not helper:
        return False
    share = Path(squid).parents[1] / "share" / "squid"
    user = "cache_effective_user nobody" if os.geteuid() == 0 else ""
    settings = {"realm": REALM, "user": user, "share": share, "helpers": Path(helper).parent}
    _write(folder, "squid.conf", SQUID.format(place=place, helper=helper, **settings))
    (folder / "squid").mkdir()
    (folder / "squid").chmod(0o777)
    words = ["squid", "-N", "-f", str(folder / "squid.conf")]
    stack.enter_context(_process(place.squid, words))
    return True


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, "utf-8")


KRB5 = """
[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_canonicalize_hostname = false
 rdns = false
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{kdc}
 }}
[domain_realm]
 localhost = {realm}
 nowhere.example = {realm}
"""
KDC = """
[kdcdefaults]
 kdc_listen = 127.0.0.1:{kdc}
 kdc_tcp_listen = 127.0.0.1:{kdc}
[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
 }}
[dbmodules]
 db_module_dir = {plugins}
[logging]
 kdc = FILE:{folder}/kdc.log
"""
APACHE = """
ServerRoot {place.folder}
ServerName localhost
PidFile {place.folder}/apache.pid
ErrorLog {place.folder}/apache.log
DefaultRuntimeDir {place.folder}
Mutex posixsem
{loads}
{user}
Listen 127.0.0.1:{place.http}
Listen 127.0.0.1:{place.https}
Listen 127.0.0.1:{place.proxy}
<Location />
 AuthType GSSAPI
 AuthName negotiate
 GssapiCredStore keytab:{place.folder}/keytab
 Require valid-user
</Location>
<VirtualHost 127.0.0.1:{place.http}>
 ProxyPass / http://127.0.0.1:{place.backend}/
</VirtualHost>
<VirtualHost 127.0.0.1:{place.https}>
 SSLEngine on
 SSLCertificateFile {place.folder}/certificate.pem
 SSLCertificateKeyFile {place.folder}/key.pem
 ProxyPass / http://127.0.0.1:{place.backend}/
</VirtualHost>
<VirtualHost 127.0.0.1:{place.proxy}>
 ProxyRequests On
 AllowCONNECT {place.backend} {place.https}
 <Proxy *>
  AuthType GSSAPI
  AuthName negotiate
  GssapiCredStore keytab:{place.folder}/keytab
  Require valid-user
 </Proxy>
</VirtualHost>
"""
SQUID = """
http_port 127.0.0.1:{place.squid}
auth_param negotiate program {helper} -k {place.folder}/keytab -s HTTP/localhost@{realm}
auth_param negotiate children 2 startup=1
acl users proxy_auth REQUIRED
http_access allow users
http_access deny all
cache deny all
pid_filename none
access_log none
netdb_filename none
cache_log {place.folder}/squid/cache.log
coredump_dir {place.folder}/squid
mime_table {share}/mime.conf
icon_directory {share}/icons
error_directory {share}/errors/templates
visible_hostname localhost
pinger_enable off
unlinkd_program {helpers}/unlinkd
shutdown_lifetime 0 seconds
{user}
"""
