"""Sign-ins against Dex, as a browser without scripts makes them. Run by scripts/real-provider."""

import contextlib
import html
import http.cookiejar
import json
import os
import pathlib
import re
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

WORK = pathlib.Path(os.environ["WORK"])
PASSWORD, SECRET = secrets.token_hex(12), secrets.token_hex(16)
CHECKS = 0


def check(is_right, what):
    global CHECKS
    assert is_right, what
    CHECKS += 1


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Redirects(urllib.request.HTTPRedirectHandler):
    """Follows what is followed by itself, and remembers the way."""

    def __init__(self):
        self.way = []

    def redirect_request(self, request, fp, code, message, headers, address):
        self.way.append(address)
        return super().redirect_request(request, fp, code, message, headers, address)


class Browser:
    def __init__(self):
        self.redirects = Redirects()
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar, self.redirects)
        self.address, self.status, self.text = "", 0, ""

    def open(self, address, fields=None):
        body = urllib.parse.urlencode(fields).encode() if fields is not None else None
        request = urllib.request.Request(urllib.parse.urljoin(self.address, address), body)
        if body is not None:
            parts = urllib.parse.urlsplit(request.full_url)
            request.add_header("Origin", f"{parts.scheme}://{parts.netloc}")
        self.redirects.way.clear()
        try:
            answer = self.opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        self.address, self.status, self.text = answer.geturl(), answer.status, answer.read().decode()
        return self

    def follow(self, words):
        """Follows the link that says this."""
        links = re.findall(r'<a [^>]*href="([^"]*)"[^>]*>([^<]*)</a>', self.text)
        found = [html.unescape(href) for href, text in links if words in text]
        assert found, f"no link {words!r} in {self.text}"
        return self.open(found[0])

    def is_at_dex(self):
        return self.address.startswith(ISSUER) and 'name="password"' in self.text

    def sign_in_there(self, login, password):
        action = re.search(r'<form method="post" action="([^"]*)"', self.text)
        assert self.is_at_dex() and action, f"{self.address}: {self.text}"
        return self.open(html.unescape(action[1]), {"login": login, "password": password})


@contextlib.contextmanager
def running(name, command, address, **environment):
    """A program of ours, until it is no longer needed."""
    with open(WORK / f"{name}.log", "a") as log:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        for _ in range(300):
            assert process.poll() is None, f"{name} ended: {(WORK / f'{name}.log').read_text()}"
            with contextlib.suppress(OSError), socket.create_connection(address, timeout=1):
                break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def person(name, number):
    hashed = subprocess.run([os.environ["HASH"], PASSWORD], check=True, capture_output=True, text=True).stdout.strip()
    return {"email": f"{name}@example.com", "hash": hashed, "username": name, "name": f"{name.title()} of Dex",
            "userID": f"00000000-0000-4000-8000-00000000000{number}"}


dex_port, desk_port = free_port(), free_port()
# By another name than ours, so that each has cookies of its own.
ISSUER, DESK = f"http://localhost:{dex_port}/dex", f"http://127.0.0.1:{desk_port}"
configuration = {
    "issuer": ISSUER,
    "storage": {"type": "memory"},
    "web": {"http": f"127.0.0.1:{dex_port}"},
    "oauth2": {"skipApprovalScreen": True},
    "staticClients": [{"id": "copydesk", "name": "Copydesk", "secret": SECRET,
                       "redirectURIs": [f"{DESK}/sign-in/oidc/back"]}],
    "enablePasswordDB": True,
    "staticPasswords": [person("ada", 1), person("bob", 2)],
    "sessions": {"ssoSharedWithDefault": "all"},
}
(WORK / "dex.json").write_text(json.dumps(configuration))
SETTINGS = {
    "COPYDESK_DATA_DIR": str(WORK / "data"),
    "COPYDESK_LISTEN": f"127.0.0.1:{desk_port}",
    "COPYDESK_SIGN_IN__OIDC_ISSUER": ISSUER,
    "COPYDESK_SIGN_IN__OIDC_CLIENT_ID": "copydesk",
    "COPYDESK_SIGN_IN__OIDC_CLIENT_SECRET": SECRET,
}


def copydesk(*arguments):
    command = [os.environ["BINARY"], *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **SETTINGS})
    return done.stdout


def desk(**changes):
    return running("serve", [os.environ["BINARY"], "serve"], ("127.0.0.1", desk_port), **{**SETTINGS, **changes})


def dex():
    command = [os.environ["DEX"], "serve", str(WORK / "dex.json")]
    return running("dex", command, ("127.0.0.1", dex_port), DEX_SESSIONS_ENABLED="true")


with dex():
    with desk():
        stranger = Browser().open(f"{DESK}/sign-in").follow("Sign in with localhost")
        check(stranger.is_at_dex(), f"led to Dex: {stranger.address}")
        stranger.sign_in_there("ada@example.com", "wrong")
        check(stranger.is_at_dex(), "Dex wants the right password")
        stranger.sign_in_there("ada@example.com", PASSWORD)
        check(stranger.status == 403 and "nobody has invited you" in stranger.text, stranger.text)
        check(stranger.open(f"{DESK}/me").address.startswith(f"{DESK}/sign-in?"), "nobody is in")

        link = re.search(r"http://\S+/join/\S+", copydesk("user", "link"))[0]
        ada = Browser().open(link).follow("Continue with localhost").sign_in_there("ada@example.com", PASSWORD)
        check(ada.address == f"{DESK}/", f"{ada.address}: {ada.text}")
        back = [address for address in ada.redirects.way if "/sign-in/oidc/back" in address]
        check(len(back) == 1 and "code=" in back[0], ada.redirects.way)
        ada.open(f"{DESK}/me")
        check("ada@example.com" in ada.text and "Ada of Dex" in ada.text and "through localhost" in ada.text, ada.text)
        users = json.loads(copydesk("user", "list", "--json"))
        check([(user["email"], user["isAdmin"]) for user in users] == [("ada@example.com", True)], users)

        check(ada.open(back[0]).status == 403 and "it is over already" in ada.text, "a code counts once")
        check(Browser().open(back[0]).status == 403, "and in its own browser only")

        ada.open(f"{DESK}/sign-in/oidc?again=1&to=%2Fme")
        check(ada.is_at_dex(), f"Dex asks again: {ada.address}: {ada.text}")
        ada.sign_in_there("ada@example.com", PASSWORD)
        check(ada.address.startswith(f"{DESK}/sign-in/sure") and "Now repeat your action" in ada.text, f"{ada.address}: {ada.text}")
        ada.open(f"{DESK}/sign-in/oidc?again=1&to=%2Fme").sign_in_there("bob@example.com", PASSWORD)
        check(ada.status == 403 and "as a different user" in ada.text, ada.text)

        ada.open(f"{DESK}/me").open("/sign-out", {})
        check(ada.address == f"{DESK}/sign-in", ada.address)
        again = Browser().open(f"{DESK}/sign-in?to=%2Fme").follow("Sign in with localhost")
        again.sign_in_there("ada@example.com", PASSWORD)
        check(again.address == f"{DESK}/me" and "ada@example.com" in again.text, again.address)
        check(len(json.loads(copydesk("user", "list", "--json"))) == 1, "she is still one")

    with desk(COPYDESK_SIGN_IN__OIDC_ONLY="true", COPYDESK_SIGN_IN__NEW_USERS="without-projects"):
        bob = Browser().open(f"{DESK}/sign-in")
        check('type="password"' not in bob.text, "there is no form for passwords")
        bob.follow("Sign in with localhost").sign_in_there("bob@example.com", PASSWORD)
        check(bob.address == f"{DESK}/" and "You are not a member of any project" in bob.text, f"{bob.address}: {bob.text}")

    with desk(COPYDESK_SIGN_IN__OIDC_CLIENT_SECRET="not-this-one"):
        ada = Browser().open(f"{DESK}/sign-in").follow("Sign in with localhost")
        ada.sign_in_there("ada@example.com", PASSWORD)
        check(ada.status == 502 and "does not accept" in ada.text, ada.text)

with desk():
    ada = Browser().open(f"{DESK}/sign-in").follow("Sign in with localhost")
    check(ada.status == 502 and "cannot be reached" in ada.text, ada.text)

log = (WORK / "serve.log").read_text()
check("the client secret is wrong" in log, "the log says why")
check(not any(leak in log for leak in [SECRET, "not-this-one", PASSWORD, "eyJ", "code="]), "and nothing that is secret")
print(f"{CHECKS} passed, 0 failed")
