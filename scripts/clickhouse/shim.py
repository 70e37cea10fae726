"""ClickHouse's HTTP interface over chDB, which is ClickHouse's engine as a library: for tests, without a server.

usage: shim.py FOLDER [--port N] [--password WORD]

Data is kept in FOLDER. Listens on the loopback only and prints its port when it is ready; 0, the default, takes a free one.
The one user is `default`, with the password WORD or none. SIGTERM lets running queries end and closes the folder.

A real server also compresses, has sessions, users and roles, answers while it still reads (an error may then come behind
rows), and writes system logs. None of that is here. What the address says and is not known is refused, as there.
"""

import argparse
import base64
import contextlib
import http.server
import importlib.machinery
import importlib.util
import os
import re
import signal
import sys
import tempfile
import threading
import typing
import urllib.parse

# Queries that run at once. The engine allows more, but whoever stops it must wait for all of them.
TURNS = 8
# Statuses that the server has for codes of errors; 500 for all others.
STATUS = dict.fromkeys((6, 26, 27, 36, 38, 41, 53, 62, 69, 70, 72, 117, 386), 400)
STATUS |= dict.fromkeys((46, 47, 50, 56, 60, 63, 73, 78, 81, 115, 511), 404)
STATUS |= {48: 501, 159: 408, 516: 403}
# What the address may say that is no setting and has no meaning here, because answers are always whole.
NO_SETTINGS = {"query", "database", "default_format", "user", "password", "query_id", "wait_end_of_query", "buffer_size"}
# Texts, quoted names and comments of a query.
WORDLESS = re.compile(rb"'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
# An INSERT whose data comes after a line break: what is before the place for a file, what is behind it, the data.
INSERT = re.compile(
    rb"\s*(INSERT\s[^']*?)(\s(?:SETTINGS\s.*?\s)?\s*FORMAT\s+(?!VALUES\b)\w+)[ \t\r]*\n(.+)", re.DOTALL | re.IGNORECASE
)


class Refused(ValueError):
    """An error that the engine did not say itself."""


def engine() -> typing.Any:
    """chDB's compiled module alone. The Python package around it wants pyarrow, of which nothing is needed here."""
    package = importlib.util.find_spec("chdb")
    if package is None or not package.submodule_search_locations:
        sys.exit("chDB is missing: pip install --require-hashes --no-deps --only-binary :all: -r requirements.txt")
    file = os.path.join(package.submodule_search_locations[0], "_chdb.abi3.so")
    loader = importlib.machinery.ExtensionFileLoader("_chdb", file)
    spec = importlib.util.spec_from_file_location("_chdb", file, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def quoted(text: str, mark: str = "'") -> str:
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, folder: str, password: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.chdb, self.folder, self.password = engine(), folder, password
        self.turns = threading.Semaphore(TURNS)
        # Held for as long as the server runs: the engine ends with its last connection.
        self.first = self.chdb.connect(folder)
        self.version = self.first.query("SELECT version()", "TSVRaw").bytes().decode().strip()

    def answer(self, asked: dict[str, str], sql: bytes, reads_only: bool) -> bytes:
        """One query on a connection of its own, so that no setting outlives it."""
        settings = {name: value for name, value in asked.items() if name not in NO_SETTINGS}
        if reads_only:
            settings.setdefault("readonly", "2")
        with self.turns, contextlib.closing(self.chdb.connect(self.folder)) as connection:
            if "database" in asked:
                connection.query("USE " + quoted(asked["database"], "`"), "Null")
            if settings:
                # Names of settings and parameters (param_…) come from the address, so they are no SQL until they are looked at.
                wrong = [name for name in settings if not re.fullmatch(r"\w+", name)]
                if wrong:
                    raise Refused(f"Code: 115. DB::Exception: Unknown setting '{wrong[0]}'. (UNKNOWN_SETTING)")
                given = ", ".join(f"{name} = {quoted(value)}" for name, value in settings.items())
                connection.query("SET " + given, "Null")
            insert = INSERT.fullmatch(sql)
            if insert is None:
                return bytes(connection.query(sql, asked.get("default_format", "TabSeparated")).bytes())
            with tempfile.NamedTemporaryFile() as file:
                # Not within the query: there the engine takes what could be an empty line for the end of the data.
                file.write(insert[3])
                file.flush()
                connection.query(insert[1] + f" FROM INFILE {quoted(file.name)}".encode() + insert[2], "Null")
                return b""

    def stop(self) -> None:
        self.shutdown()
        for _ in range(TURNS):
            self.turns.acquire()
        self.first.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer goes out in one piece. Otherwise its body waits for the client to acknowledge its head.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path in ("/", "/ping"):
            self.reply(200, b"Ok.\n")
        else:
            self.handle_query(b"")

    def do_POST(self) -> None:
        try:
            body = self.body()
        except (ValueError, EOFError):
            # A body that ends early must not be taken for a whole one.
            self.close_connection = True
            return
        self.handle_query(body)

    def handle_query(self, body: bytes) -> None:
        address = urllib.parse.urlsplit(self.path)
        if address.path != "/":
            self.reply(404, f"There is no handle {address.path}\n".encode())
            return
        asked = dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True))
        try:
            self.check(asked)
            # As the server does: the query in the address, a line break, the body, which then is data or the rest of it.
            sql = asked["query"].encode() + b"\n" + body if asked.get("query") else body
            if not sql.strip():
                raise Refused("Code: 62. DB::Exception: Empty query. (SYNTAX_ERROR)")
            # The engine would do several statements, one after the other. An INSERT may have anything behind it.
            if sql.lstrip()[:6].upper() != b"INSERT" and re.search(rb";\s*\S", WORDLESS.sub(b"", sql)):
                raise Refused("Code: 62. DB::Exception: Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)")
            self.reply(200, self.server.answer(asked, sql, self.command == "GET"))
        except (RuntimeError, ValueError) as error:
            text = str(error)
            found = re.match(r"Code: (\d+)", text)
            code = int(found[1]) if found else 1002
            text = f"{text if found else f'Code: 1002. DB::Exception: {text}'} (version {self.server.version})\n"
            self.reply(STATUS.get(code, 500), text.encode(), code)

    def check(self, asked: dict[str, str]) -> None:
        for name in ("compress", "decompress"):
            if asked.pop(name, "0") != "0":
                raise Refused(f"Code: 48. DB::Exception: Nothing is compressed here, so not '{name}'. (NOT_IMPLEMENTED)")
        user = asked.get("user") or self.headers.get("X-ClickHouse-User", "default")
        password = asked.get("password") or self.headers.get("X-ClickHouse-Key", "")
        scheme, _, basic = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "basic":
            user, _, password = base64.b64decode(basic).decode().partition(":")
        if (user, password) != ("default", self.server.password):
            raise Refused(f"Code: 516. DB::Exception: {user}: Authentication failed. (AUTHENTICATION_FAILED)")

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.read(int(self.headers.get("Content-Length", "0")))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def read(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def reply(self, status: int, body: bytes, code: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("usage: ")[1].split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--password", default="")
    asked = parser.parse_args()
    server = Server(asked.port, asked.folder, asked.password)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.stop).start())
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
