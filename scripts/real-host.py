"""A story of jobs, comments and labels on Gitea, by people who use its interface. Run by scripts/real-host."""

import base64
import contextlib
import hashlib
import hmac
import http.client
import http.cookiejar
import http.server
import json
import os
import pathlib
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

WORK = pathlib.Path(os.environ["WORK"])
PASSWORD = secrets.token_hex(12)
RIGHT, WRONG = [], []
STARTED = time.monotonic()


def say(what):
    passed = int(time.monotonic() - STARTED)
    print(f"\n-- {passed // 60}:{passed % 60:02} {what}", flush=True)


def check(is_right, what, more=""):
    """Counts, and goes on: a story that stops at the first wrong word tells little."""
    (RIGHT if is_right else WRONG).append(what)
    print(f"  {'right' if is_right else 'WRONG'}: {what}" + ("" if is_right else f": {more}"), flush=True)
    return is_right


def until(probe, seconds=60):
    """What the probe gives once it gives something; what it gave last if it never does."""
    end = time.monotonic() + seconds
    while not (found := probe()) and time.monotonic() < end:
        time.sleep(0.2)
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


GITEA_PORT, DESK_PORT = free_port(), free_port()
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def exchange(method, address, body=None, headers=None):
    """Status and document of an answer."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        answer = OPENER.open(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    text = answer.read().decode()
    with contextlib.suppress(ValueError):
        return answer.status, json.loads(text)
    return answer.status, text


# What stands between the two.


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "keep-alive"):
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.play
        raise AttributeError(name)

    def play(self):
        with contextlib.suppress(ConnectionError):
            self.respond()


def serve(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


class Gate:
    """Holds the next request of a kind, before Gitea gets it or when Gitea has answered. What was held is lost."""

    def __init__(self, method, path, done=False):
        self.method, self.path, self.done = method, re.compile(path), done
        self.reached, self.opened = threading.Event(), threading.Event()
        GATES.append(self)

    def fits(self, request):
        return not self.reached.is_set() and request.command == self.method and self.path.search(request.path)


GATES, REQUESTS = [], []
LOCK = threading.Lock()


class Between(Handler):
    """What Copydesk takes for Gitea: Gitea, as through a proxy."""

    def respond(self):
        body = self.body()
        with LOCK:
            gate = next((gate for gate in GATES if gate.fits(self)), None)
            if gate and not gate.done:
                gate.reached.set()
        if gate and not gate.done:
            gate.opened.wait(600)
            self.close_connection = True
            return
        headers = {name: value for name, value in self.headers.items()
                   if name.lower() not in ("connection", "transfer-encoding", "content-length")}
        try:
            gitea = http.client.HTTPConnection("127.0.0.1", GITEA_PORT, timeout=120)
            gitea.request(self.command, self.path, body if body or self.command != "GET" else None, headers)
            answer = gitea.getresponse()
            status, fields, said = answer.status, answer.getheaders(), answer.read()
            gitea.close()
        except (OSError, http.client.HTTPException):
            status, fields, said = 502, [("Content-Type", "text/html")], b"<title>502 Bad Gateway</title>"
        REQUESTS.append((time.monotonic(), self.command, self.path, status))
        if gate:
            gate.reached.set()
            gate.opened.wait(600)
            self.close_connection = True
            return
        self.answer(status, fields, said)


DELIVERIES = []


class Hooks(Handler):
    """Hands on what Gitea delivers, and remembers it."""

    def respond(self):
        body = self.body()
        headers = dict(self.headers.items())
        try:
            status, said = exchange("POST", DESK + self.path, body, headers)
        except OSError:
            status, said = 502, ""
        DELIVERIES.append({"headers": headers, "body": json.loads(body), "raw": body, "status": status, "path": self.path})
        self.answer(status, [], json.dumps(said).encode())


class Model(Handler):
    """A model that does what the last prompt says, if that is like `a.md says "one" titled "Say one"`."""

    PROMPTS = []

    def respond(self):
        asked = json.loads(self.body())
        said = "\n".join(str(message["content"]) for message in asked["messages"] if message["role"] == "user")
        orders = re.findall(r'([a-z0-9-]+)\.md says "([^"]*)"(?: titled "([^"]*)")?', said)
        if asked["messages"][-1]["role"] == "user" and orders:
            name, word, _ = orders[-1]
            call = ("write_file", {"path": f"docs/{name}.md", "text": f"# {name.title()}\n\nThis page says {word}.\n"})
        else:
            _, word, title = orders[-1] if orders else ("", "nothing", "")
            call = ("finish", {"title": title or f"Say {word}", "summary": f"The page says {word} now."})
        self.PROMPTS.append(said)
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        identity = f"call_{len(asked['messages'])}"
        pieces = [{"role": "assistant", "content": ""},
                  {"tool_calls": [{"index": 0, "id": identity, "type": "function", "function": function}]}]
        chunks = [{"choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in pieces]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        chunks.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}})
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted"}
        text = "".join(f"data: {json.dumps({**head, **chunk})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.answer(200, [("Content-Type", "text/event-stream")], text.encode())


HOST = f"http://127.0.0.1:{serve(Between)}"
HOOKS = f"http://127.0.0.1:{serve(Hooks)}"
MODEL = f"http://127.0.0.1:{serve(Model)}/v1"
DESK = f"http://127.0.0.1:{DESK_PORT}"


class Program:
    """A program of ours, which can be killed."""

    def __init__(self, name, command, port, environment):
        self.name, self.command, self.port, self.environment, self.process = name, command, port, environment, None

    def start(self):
        with open(WORK / f"{self.name}.log", "a") as log:
            environment = {**os.environ, **self.environment}
            self.process = subprocess.Popen(self.command, env=environment, stdout=log, stderr=log)
        for _ in range(600):
            assert self.process.poll() is None, f"{self.name} ended: {(WORK / f'{self.name}.log').read_text()[-3000:]}"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.1)
        raise AssertionError(f"{self.name} does not listen")

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(timeout=60)


# Gitea and the people on it.

DATA = WORK / "host"
DATA.mkdir()
CONFIGURATION = DATA / "app.ini"
CONFIGURATION.write_text(f"""
APP_NAME = Gitea
RUN_MODE = prod
WORK_PATH = {DATA}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = {"true" if os.getuid() == 0 else "false"}
[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {GITEA_PORT}
ROOT_URL = {HOST}/
PUBLIC_URL_DETECTION = never
STATIC_ROOT_PATH = {os.environ["STATIC"]}
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = {DATA}/gitea.db
SQLITE_JOURNAL_MODE = WAL
[security]
INSTALL_LOCK = true
SECRET_KEY = {secrets.token_hex(16)}
PASSWORD_HASH_ALGO = pbkdf2$1000$50
[repository]
ENABLE_PUSH_CREATE_USER = false
[webhook]
ALLOWED_HOST_LIST = loopback
DELIVER_TIMEOUT = 30
[mailer]
ENABLED = false
[actions]
ENABLED = false
[service]
DISABLE_REGISTRATION = true
[indexer]
ISSUE_INDEXER_TYPE = db
[cron.update_checker]
ENABLED = false
[log]
MODE = console
LEVEL = Warn
""")
GITEA = Program("gitea", [os.environ["GITEA"], "web", "--config", str(CONFIGURATION)], GITEA_PORT, {"GITEA_WORK_DIR": str(DATA)})


class Person:
    def __init__(self, name):
        self.name = name
        self.basic = "Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()

    def ask(self, method, path, body=None, token=None):
        """Not through what stands between: that is Copydesk's."""
        headers = {"Authorization": f"token {token}" if token else self.basic}
        return exchange(method, f"http://127.0.0.1:{GITEA_PORT}/api/v1/{path}", body, headers)

    def do(self, method, path, body=None):
        status, document = self.ask(method, path, body)
        assert status < 300, f"{self.name}: {method} {path}: {status} {document}"
        return document

    def token(self, *scopes):
        name = secrets.token_hex(4)
        return self.do("POST", f"users/{self.name}/tokens", {"name": name, "scopes": list(scopes)})["sha1"], name

    def reply_at_line(self, repository, number, review, text):
        """There are only pages for that, so it is done as a browser would."""
        jar = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(jar))

        def post(page, **fields):
            return browser.open(f"http://127.0.0.1:{GITEA_PORT}/{page}", urllib.parse.urlencode(fields).encode(), timeout=60)

        post("user/login", user_name=self.name, password=PASSWORD)
        post(f"{repository.path}/pulls/{number}/files/reviews/comments", origin="timeline", content=text, side="proposed",
             line=3, path="docs/a.md", single_review="true", reply=review, latest_commit_id="")


class Repository:
    """One on Gitea, with the eyes of its owner."""

    def __init__(self, owner, path):
        self.owner, self.path = owner, path

    def get(self, path):
        return self.owner.do("GET", f"repos/{self.path}/{path}")

    def pulls(self):
        return sorted(self.get("pulls?state=all&limit=50"), key=lambda pull: pull["number"])

    def pull(self, number):
        return self.get(f"pulls/{number}")

    def branches(self):
        return [branch["name"] for branch in self.get("branches?limit=50") if branch["name"].startswith("copydesk/")]

    def commits(self, number):
        return len(self.get(f"pulls/{number}/commits?limit=50"))

    def replies(self, number):
        said = [comment["body"] for comment in self.get(f"issues/{number}/comments")]
        return [body for body in said if "copydesk-answer" in body]

    def put(self, person, path, text, branch="main"):
        content = base64.b64encode(text.encode()).decode()
        person.do("POST", f"repos/{self.path}/contents/{path}", {"content": content, "branch": branch, "message": f"Add {path}"})

    def comment(self, person, number, text):
        return person.do("POST", f"repos/{self.path}/issues/{number}/comments", {"body": text})["id"]

    def hook(self, project):
        told = json.loads(copydesk("project", "hook", project, "--json"))
        address = told["address"].replace(DESK, HOOKS)
        self.owner.do("POST", f"repos/{self.path}/hooks", {
            "type": "gitea", "active": True, "config": {"url": address, "content_type": "json", "secret": told["secret"]},
            "events": ["issues", "issue_label", "issue_comment", "pull_request", "pull_request_comment",
                       "pull_request_review"]})
        return told["secret"]

    def merge(self, number, person):
        def merged():
            status, said = person.ask("POST", f"repos/{self.path}/pulls/{number}/merge", {"Do": "merge"})
            # It may still be looking whether that can be merged.
            return status == 200 or (status != 405 and f"{status} {said}")
        return until(merged)


# Copydesk.

SETTINGS = {
    "COPYDESK_DATA_DIR": str(WORK / "data"),
    "COPYDESK_LISTEN": f"127.0.0.1:{DESK_PORT}",
    "COPYDESK_MODEL__PROVIDER": "openai",
    "COPYDESK_MODEL__NAME": "scripted",
    "COPYDESK_MODEL__BASE_URL": MODEL,
    "COPYDESK_MODEL__API_KEY": "sk-scripted",
    "COPYDESK_LIMITS__JOBS_PER_HOUR": "0",
}
SERVER = Program("serve", [os.environ["BINARY"], "serve"], DESK_PORT, SETTINGS)


def copydesk(*arguments, given=None, fails=False):
    done = subprocess.run([os.environ["BINARY"], *arguments], capture_output=True, text=True, input=given,
                          env={**os.environ, **SETTINGS}, check=False)
    assert fails or done.returncode == 0, f"copydesk {arguments}: {done.stdout} {done.stderr}"
    return done.stdout + (done.stderr if fails else "")


class Project:
    def __init__(self, name, repository, token, *flags):
        self.repository = repository
        made = copydesk("project", "create", "--name", name, "--repository", f"{HOST}/{repository.path}.git", "--host",
                        "gitea", "--json", *flags)
        self.id = json.loads(made)["id"]
        self.use(token)
        self.key = json.loads(copydesk("key", "create", "--project", self.id, "--json"))["key"]

    def use(self, token):
        copydesk("project", "credential", "set", self.id, given=token)

    def ask(self, method, path, body=None):
        return exchange(method, f"{DESK}/v2/agent/{self.id}/{path}", body, {"Authorization": f"Bearer {self.key}"})

    def begin(self, prompt, **more):
        status, job = self.ask("POST", "job", {"prompt": prompt, **more})
        assert status == 201, job
        return job["id"]

    def get(self, job):
        status, document = self.ask("GET", f"job/{job}")
        assert status == 200, document
        return document

    def jobs(self):
        return self.ask("GET", "jobs?limit=100")[1]["jobs"]

    def ended(self, job, seconds=120):
        def end():
            with contextlib.suppress(OSError):
                now = self.get(job)
                return now if now["status"] in ("completed", "failed") else None
        return until(end, seconds) or self.get(job)

    def run(self, prompt, **more):
        return self.ended(self.begin(prompt, **more))

    def follow(self, job, prompt):
        status, said = self.ask("POST", f"job/{job}/message", {"prompt": prompt})
        assert status < 300, said
        return self.ended(job)

    def asks(self):
        return json.loads(copydesk("project", "asks", self.id, "--json", "--limit", "200"))

    def settled(self, count=None, seconds=60):
        """All that was asked for, once it is refused or answered; and this many, if it is said how many there will be."""
        def all_over():
            asks = self.asks()
            is_over = all(ask["state"] in ("refused", "answered") for ask in asks)
            return asks if is_over and (count is None or len(asks) >= count) else None
        return until(all_over, seconds) or self.asks()

    def reviewed(self, job, wanted):
        """How its pull request stands, once it stands so."""
        return until(lambda: (pull := self.get(job)["pullRequest"])["state"] == wanted and pull, 10) or self.get(job)["pullRequest"]


def number_of(job):
    return int(job["prLink"].rsplit("/", 1)[1])


def delivered(event, action=None, since=0):
    def fits(delivery):
        return delivery["headers"].get("X-Gitea-Event-Type") == event and action in (None, delivery["body"].get("action"))
    return until(lambda: next((it for it in DELIVERIES[since:] if fits(it)), None), 20)


def quiet(seconds=3):
    """Long enough for something that should not happen."""
    time.sleep(seconds)


def main():
    say("Gitea and its people")
    create = ["admin", "user", "create", "--admin", "--username", "root1", "--password", PASSWORD, "--email",
              "root1@example.com", "--must-change-password=false", "--config", str(CONFIGURATION)]
    GITEA.start()
    subprocess.run([os.environ["GITEA"], *create], check=True, capture_output=True, env={**os.environ, "GITEA_WORK_DIR": str(DATA)})
    root = Person("root1")
    version = root.do("GET", "version")["version"]
    print(f"  Gitea {version}")
    people = {name: Person(name) for name in ("olga", "ada", "rex", "sid", "bot", "tea", "tim")}
    for name in people:
        root.do("POST", "admin/users", {"username": name, "email": f"{name}@example.com", "password": PASSWORD,
                                        "must_change_password": False})
    olga, ada, rex, sid, bot, tea, tim = people.values()
    olga.do("POST", "user/repos", {"name": "manual", "auto_init": True, "default_branch": "main"})
    manual = Repository(olga, "olga/manual")
    for person, right in ((ada, "write"), (bot, "write"), (rex, "read")):
        olga.do("PUT", f"repos/{manual.path}/collaborators/{person.name}", {"permission": right})
    manual.put(olga, "docs/index.md", "# Start\n\nThis is the manual.\n")
    labels = {name: olga.do("POST", f"repos/{manual.path}/labels", {"name": name, "color": "#00aabb"})["id"]
              for name in ("documentation", "docs wanted")}
    root.do("POST", "orgs", {"username": "acme"})
    root.do("POST", "orgs/acme/repos", {"name": "docs", "auto_init": True, "default_branch": "main"})
    acme = Repository(root, "acme/docs")
    root.do("PUT", f"repos/{acme.path}/collaborators/bot", {"permission": "write"})

    def team(name, right, member, repository=acme):
        units = {"repo.code": right, "repo.issues": right, "repo.pulls": right}
        made = root.do("POST", "orgs/acme/teams", {"name": name, "permission": right, "units_map": units, "units": list(units)})
        root.do("PUT", f"teams/{made['id']}/members/{member.name}")
        root.do("PUT", f"teams/{made['id']}/repos/{repository.path}")
        return made["id"]

    team("writers", "write", tea)
    token, token_name = bot.token("write:repository", "write:issue")
    narrow, _ = bot.token("write:repository")

    say("what the host does")
    facts(manual, acme, token, narrow, people, team)
    SERVER.start()
    story_of_jobs(manual, token, token_name, narrow, labels, people)
    story_of_an_organisation(acme, token, people)


def facts(manual, acme, token, narrow, people, team):
    olga, ada, rex, sid, bot, tea, tim = people.values()

    def asked(path, key=token, repository=manual):
        return bot.ask("GET", f"repos/{repository.path}/{path}", token=key)

    status, said = asked("collaborators/ada/permission")
    check(status == 403 and "Only admins" in said["message"], "a writer is not told what others may", (status, said))
    status, said = asked("collaborators/bot/permission")
    check((status, said["permission"]) == (200, "write"), "but what itself may", said)
    status, said = olga.ask("GET", f"repos/{manual.path}/collaborators/nobody/permission")
    check(status == 404, "nobody knows somebody who is not there", (status, said))
    permission = olga.do("GET", f"repos/{manual.path}/collaborators/sid/permission")
    check(permission["permission"] == "read", "a stranger reads what is public", permission)
    names = sorted(user["login"] for user in asked("assignees")[1])
    check(names == ["ada", "bot", "olga"], "assignees of a person's repository are who may write", names)
    status, said = asked("teams")
    check(status == 405, "a person's repository has no teams", (status, said))
    names = sorted(user["login"] for user in asked("assignees", repository=acme)[1])
    check(names == ["bot", "root1", "tea"], "assignees of an organisation's: who may write", names)
    team("readers", "read", tim)
    names = sorted(user["login"] for user in asked("assignees", repository=acme)[1])
    check(names == ["bot", "root1", "tea", "tim"], "and those whose team may read", names)
    status, teams = asked("teams", repository=acme)
    rights = {team["name"]: team["units_map"].get("repo.code") for team in teams}
    check(rights == {"Owners": "owner", "writers": "write", "readers": "read"}, "teams say what they may", (status, teams))
    for path in ("issues/1", "issues/comments/1", "labels"):
        status, said = asked(path, narrow)
        check(status == 403 and "read:issue" in said["message"], f"{path} needs a scope of its own", (status, said))
    for path in ("pulls", "assignees", "branches/main", ""):
        check(asked(path, narrow)[0] == 200, f"{path or 'the repository'} does not")


def story_of_jobs(manual, token, token_name, narrow, labels, people):
    olga, ada, rex, sid, bot, tea, tim = people.values()
    say("a project")
    docs = Project("Docs", manual, token)
    tried = json.loads(copydesk("project", "test", docs.id, "--json"))
    check(tried["works"] and all(trial["result"] == "yes" for trial in tried["trials"]), "the test says that a job can run", tried)
    copydesk("project", "update", docs.id, "--label", "documentation", "--reviewer", "ada", "--job-label", "docs wanted")

    say("a job")
    job = docs.run('a.md says "one" titled "Say one on the page"')
    check(job["status"] == "completed", "the job completes", job)
    check(len(manual.branches()) == 1 and len(manual.pulls()) == 1, "one branch, one pull request", manual.branches())
    pull = manual.pulls()[0]
    check(job["prLink"] == pull["html_url"], "the job leads to it", job["prLink"])
    check(pull["title"] == "Say one on the page" and not pull["draft"], "its title", pull["title"])
    check("The page says one now." in pull["body"] and "docs/a.md" in pull["body"], "its text", pull["body"])
    check([label["name"] for label in pull["labels"]] == ["documentation"], "its label", pull["labels"])
    check([user["login"] for user in pull["requested_reviewers"] or []] == ["ada"], "its reviewer", pull["requested_reviewers"])
    check(pull["user"]["login"] == "bot", "it is the account's of the token", pull["user"])
    number, first = pull["number"], job["id"]

    say("follow-ups")
    job = docs.follow(first, 'a.md says "two"')
    check(job["status"] == "completed" and number_of(job) == number, "the same pull request", job)
    check((manual.commits(number), len(manual.pulls()), len(manual.branches())) == (2, 1, 1), "one more commit")
    ada.do("PATCH", f"repos/{manual.path}/pulls/{number}", {"title": "What Ada calls it", "body": "What Ada says of it."})
    job = docs.follow(first, 'a.md says "three"')
    pull = manual.pull(number)
    check(job["status"] == "completed" and pull["title"] == "What Ada calls it", "a title of a maintainer stays", pull["title"])
    check(pull["body"].startswith("What Ada says of it."), "a text of a maintainer stays", pull["body"])
    check("The page says three now." in pull["body"], "what is new is added", pull["body"])
    check([label["name"] for label in pull["labels"]] == ["documentation"], "labels stay", pull["labels"])

    say("webhooks")
    secret = manual.hook(docs.id)
    manual.comment(ada, number, '@copydesk a.md says "four"')
    asks = docs.settled(1)
    check([ask["state"] for ask in asks] == ["answered"], "a comment of a writer is answered", asks)
    check((manual.commits(number), len(manual.replies(number))) == (4, 1), "one follow-up and one reply",
          (manual.commits(number), manual.replies(number)))
    check('[//]: # "copydesk-answer' in "".join(manual.replies(number)), "the mark is kept", manual.replies(number))
    told = delivered("pull_request_comment")
    check(told and told["headers"]["X-Gitea-Event"] == "issue_comment" and told["body"]["is_pull"] is True
          and told["body"]["issue"]["number"] == number and told["status"] == 202, "how a comment is told of", told)
    expected = hmac.new(secret.encode(), told["raw"], hashlib.sha256).hexdigest()
    check(told["headers"]["X-Gitea-Signature"] == expected, "how it is signed", told["headers"])
    kinds = {name.lower() for name in told["headers"]}
    check({"x-gitea-delivery", "x-hub-signature-256", "x-github-event"} <= kinds, "by which names", kinds)
    for _ in range(3):
        status, said = exchange("POST", DESK + told["path"], told["raw"], told["headers"])
        check(status == 202, "the same delivery again is taken", (status, said))
    quiet()
    check((manual.commits(number), len(manual.replies(number)), len(docs.settled())) == (4, 1, 1), "and is nothing more")
    status, _ = exchange("POST", DESK + told["path"], told["raw"], {**told["headers"], "X-Gitea-Signature": "0" * 64,
                         "X-Hub-Signature-256": "sha256=" + "0" * 64, "X-Gogs-Signature": "0" * 64, "X-Hub-Signature": "sha1=" + "0" * 40})
    check(status == 403, "one that is not signed is refused", status)
    for person in (rex, sid):
        manual.comment(person, number, '@copydesk a.md says "evil"')
    asks = docs.settled(3)
    refused = [ask for ask in asks if ask["state"] == "refused"]
    check(len(refused) == 2 and all("may not write" in (ask["note"] or "") for ask in refused), "readers and strangers are not heard", asks)
    check((manual.commits(number), len(manual.replies(number))) == (4, 1), "nothing comes of it")
    manual.comment(ada, number, "Looks good to me.")
    quiet(2)
    check(len(docs.settled()) == 3, "a comment that does not mention it is nothing")

    say("reviews")
    at_line = {"path": "docs/a.md", "body": '@copydesk a.md says "five"', "new_position": 3}
    ada.do("POST", f"repos/{manual.path}/pulls/{number}/reviews", {"event": "COMMENT", "body": "Nearly.", "comments": [at_line]})
    job = until(lambda: manual.commits(number) == 5 and len(manual.replies(number)) == 2 and docs.get(first), 60) or docs.get(first)
    docs.settled()
    check((manual.commits(number), len(manual.replies(number))) == (5, 2), "a review is one follow-up and one reply",
          (manual.commits(number), docs.asks()))
    check(re.search(r'Nearly\.\n\nOn docs/a\.md, line 3:\n\n(@copydesk )?a\.md says "five"', Model.PROMPTS[-1]), "with file and line", Model.PROMPTS[-1])
    told = delivered("pull_request_review_comment")
    check(told and told["headers"]["X-Gitea-Event"] == "pull_request_comment" and told["body"]["action"] == "reviewed"
          and set(told["body"]["review"]) == {"type", "content"}, "how a review is told of", told and told["body"].get("review"))
    exchange("POST", DESK + told["path"], told["raw"], told["headers"])
    rex.do("POST", f"repos/{manual.path}/pulls/{number}/reviews", {"event": "COMMENT", "body": '@copydesk a.md says "evil"'})
    quiet()
    docs.settled()
    check((manual.commits(number), len(manual.replies(number))) == (5, 2), "again, or by a reader, it is nothing more", docs.asks())
    ada.do("POST", f"repos/{manual.path}/pulls/{number}/reviews", {"event": "APPROVED", "body": '@copydesk a.md says "six"'})
    until(lambda: manual.commits(number) == 6 and len(manual.replies(number)) == 3)
    docs.settled()
    check((manual.commits(number), len(manual.replies(number))) == (6, 3), "an approval that asks for something is heard", docs.asks())

    say("replies at lines")
    reviews = [review for review in manual.get(f"pulls/{number}/reviews") if review["comments_count"]]
    question = {"path": "docs/a.md", "body": "Is that so?", "new_position": 3}
    asked = ada.do("POST", f"repos/{manual.path}/pulls/{number}/reviews", {"event": "COMMENT", "comments": [question]})
    check(len(reviews) == 1 and asked["comments_count"] == 1, "a review without a text", asked)
    since, before = len(DELIVERIES), len(docs.settled())
    rex.reply_at_line(manual, number, asked["id"], '@copydesk a.md says "evil"')
    told = until(lambda: next((it for it in DELIVERIES[since:] if "evil" in it["body"].get("comment", {}).get("body", "")), None), 20)
    check(told and told["headers"]["X-Gitea-Event"] == "issue_comment", "a reply at a line is told of as a comment", told)
    check(told and ada.ask("GET", f"repos/{manual.path}/issues/comments/{told['body']['comment']['id']}")[0] == 204, "and not shown as one")
    people = [line["user"]["login"] for line in manual.get(f"pulls/{number}/reviews/{asked['id']}/comments")]
    check(people == ["ada", "rex"], "but in the review of somebody else", people)
    docs.settled(before + 1)
    # That all are looked at again.
    rex.do("POST", f"repos/{manual.path}/pulls/{number}/reviews", {"event": "COMMENT", "body": "I see."})
    quiet()
    docs.settled()
    check((manual.commits(number), len(manual.replies(number))) == (6, 3), "nothing comes of a reader's", docs.asks())
    ada.reply_at_line(manual, number, asked["id"], '@copydesk a.md says "six and a half"')
    until(lambda: manual.commits(number) == 7 and len(manual.replies(number)) == 4)
    docs.settled()
    check((manual.commits(number), len(manual.replies(number))) == (7, 4), "a writer's is a follow-up", docs.asks())
    check(re.search(r'On docs/a\.md, line 3:\n\n(@copydesk )?a\.md says "six and a half"', Model.PROMPTS[-1]), "with file and line", Model.PROMPTS[-1])

    say("issues")
    def issue(person, title, text, **more):
        return person.do("POST", f"repos/{manual.path}/issues", {"title": title, "body": text, **more})["number"]

    def label(person, number):
        person.do("POST", f"repos/{manual.path}/issues/{number}/labels", {"labels": [labels["docs wanted"]]})

    def of_issue(number):
        return [pull for pull in manual.pulls() if f"Asked for in #{number}." in pull["body"]]

    wish = issue(sid, "Say seven", 'The page b.md says "seven" if you can.')
    label(ada, wish)
    until(lambda: len(manual.replies(wish)) == 1)
    made = of_issue(wish)
    check(len(made) == 1 and len(docs.jobs()) == 2, "a label is one job", (made, docs.asks()))
    check(len(manual.replies(wish)) == 1 and made[0]["html_url"] in manual.replies(wish)[0], "with a reply that leads to it", manual.replies(wish))
    told = delivered("issue_label", "label_updated")
    check(told and told["headers"]["X-Gitea-Event"] == "issues" and [it["name"] for it in told["body"]["issue"]["labels"]] == ["docs wanted"],
          "how a label is told of", told and told["body"])
    exchange("POST", DESK + told["path"], told["raw"], told["headers"])
    quiet()
    check(len(docs.jobs()) == 2 and len(manual.replies(wish)) == 1, "the delivery again is nothing more", docs.asks())
    since = len(DELIVERIES)
    ada.do("DELETE", f"repos/{manual.path}/issues/{wish}/labels/{labels['docs wanted']}")
    check(delivered("issue_label", since=since), "a label taken away is told of")
    until(lambda: not [ask for ask in docs.asks() if ask["ask"].startswith("issue") or "label" in ask["ask"]], 20)
    label(ada, wish)
    until(lambda: len(manual.replies(wish)) == 2)
    check(len(of_issue(wish)) == 2 and len(docs.jobs()) == 3 and len(manual.replies(wish)) == 2, "a label given again is another job", docs.asks())
    def replace(*names):
        ada.do("PUT", f"repos/{manual.path}/issues/{wish}/labels", {"labels": [labels[name] for name in names]})

    def known():
        return [ask for ask in docs.asks() if ask["ask"] in (f"issue {wish}", f"no label on {wish}")]

    since = len(DELIVERIES)
    ada.do("DELETE", f"repos/{manual.path}/issues/{wish}/labels")
    told = delivered("issue_label", since=since)
    check(told and told["body"]["action"] == "label_cleared" and told["body"]["issue"]["labels"], "labels that are cleared are shown as they were", told)
    check(until(lambda: not known(), 20) is True, "and are looked at", known())
    since = len(DELIVERIES)
    replace("docs wanted", "documentation")
    told = delivered("issue_label", since=since)
    check(told and told["body"]["action"] == "label_updated" and not told["body"]["issue"]["labels"], "labels that are replaced are not shown", told)
    until(lambda: len(manual.replies(wish)) == 3)
    check(len(of_issue(wish)) == 3 and len(docs.jobs()) == 4, "and are looked at", docs.asks())
    replace("documentation")
    check(until(lambda: not known(), 20) is True, "also when the label is gone", known())
    since = len(DELIVERIES)
    born = issue(ada, "Say eight", 'The page c.md says "eight".', labels=[labels["docs wanted"]])
    until(lambda: len(manual.replies(born)) == 1)
    check(len(of_issue(born)) == 1 and len(manual.replies(born)) == 1, "an issue that comes with its label is one job", docs.asks())
    until(lambda: len(DELIVERIES) > since)
    kinds = [(it["headers"].get("X-Gitea-Event-Type"), it["body"].get("action")) for it in DELIVERIES[since:]
             if it["body"].get("issue", {}).get("number") == born]
    print(f"  it was told as {kinds}")
    jobs = len(docs.jobs())
    status, _ = rex.ask("POST", f"repos/{manual.path}/issues/{born}/labels", {"labels": [labels["documentation"]]})
    check(status == 403, "who may read cannot label", status)
    strange = issue(sid, "Say evil", 'The page d.md says "evil".', labels=[labels["docs wanted"]])
    quiet()
    worn = manual.get(f"issues/{strange}")["labels"]
    check(not worn and len(docs.jobs()) == jobs, "nor does an issue of a stranger come with labels", worn)
    ada.do("POST", f"repos/{manual.path}/issues/{wish}/comments", {"body": "@copydesk what about this?"})
    quiet(2)
    check(len(docs.jobs()) == jobs, "a comment on an issue is nothing")

    say("merge and close")
    # It asks the host by itself, once a minute.
    docs.reviewed(first, "open")
    check(manual.merge(number, ada) is True, "Gitea merges it")
    pull = docs.reviewed(first, "merged")
    check(pull["state"] == "merged" and pull.get("mergedAt"), "the job shows it merged within seconds", pull)
    def is_merge(it):
        return it["body"].get("action") == "closed" and it["body"].get("pull_request", {}).get("merged")

    told = until(lambda: [it for it in DELIVERIES if is_merge(it)], 10)
    check(len(told) == 1 and told[0]["headers"]["X-Gitea-Event"] == "pull_request", "how a merge is told of", len(told))
    commits = manual.commits(number)
    manual.comment(ada, number, '@copydesk a.md says "late"')
    asks = docs.settled(len(docs.asks()))
    quiet(2)
    late = [ask for ask in docs.settled() if "merged or closed" in (ask["note"] or "")]
    check(len(late) == 1 and manual.commits(number) == commits, "a comment on a merged one is nothing", asks)
    second = next(job for job in docs.jobs() if job["prLink"] == made[0]["html_url"])
    ada.do("PATCH", f"repos/{manual.path}/pulls/{made[0]['number']}", {"state": "closed"})
    pull = docs.reviewed(second["id"], "closed")
    check(pull["state"] == "closed", "one that is closed is shown so", pull)
    job = docs.follow(second["id"], 'b.md says "late"')
    check(job["status"] == "failed" and "closed" in job["message"], "nothing is added to it", job["message"])

    say("what moves and goes away")
    job = docs.run('e.md says "nine"')
    manual.put(olga, "docs/elsewhere.md", "# Elsewhere\n\nSomebody was faster.\n")
    job = docs.follow(job["id"], 'e.md says "ten"')
    check(job["status"] == "completed", "a base that has moved on", job["message"])
    merged = manual.merge(number_of(job), ada)
    check(merged is True, "what came of it can be merged", merged)
    job = docs.run('f.md says "eleven"')
    branch = manual.pull(number_of(job))["head"]["ref"]
    ada.do("DELETE", f"repos/{manual.path}/branches/{urllib.parse.quote(branch, safe='')}")
    state = until(lambda: (now := manual.pull(number_of(job)))["state"] == "closed" and now, 5) or manual.pull(number_of(job))
    print(f"  Gitea says of a pull request without its branch: {state['state']}, {state['head']['ref']}, {state['head']['label']}")
    job = docs.follow(job["id"], 'f.md says "twelve"')
    print(f"  the job says: {job['message']}")
    check(job["status"] == "failed" and ("branch" in job["message"] or "closed" in job["message"]), "a branch that is gone is told of", job["message"])
    job = docs.run('g.md says "thirteen"')
    olga.do("PATCH", f"repos/{manual.path}", {"name": "handbook"})
    old, manual.path = manual.path, "olga/handbook"
    pulls = len(manual.pulls())
    tried = copydesk("project", "test", docs.id, fails=True)
    print("  of a repository that was renamed: " + " / ".join(tried.split("\n")))
    job = docs.follow(job["id"], 'g.md says "fourteen"')
    print(f"  a follow-up: {job['status']}: {job['message']}")
    new = docs.run('h.md says "fifteen"')
    print(f"  a job: {new['status']}: {new['message']} {new['prLink']}")
    named = all(job["status"] == "completed" or "set it to the new address" in job["message"] for job in (job, new))
    check(named, "a repository that was renamed works on, or it is said what to do", (job["message"], new["message"]))
    copydesk("project", "update", docs.id, "--repository", f"{HOST}/{manual.path}.git")
    done = len(manual.pulls())
    job = docs.run('i.md says "sixteen"')
    check(job["status"] == "completed" and len(manual.pulls()) == done + 1, "with its new name it works", (old, pulls, job["message"]))

    say("tokens")
    bot.do("DELETE", f"users/bot/tokens/{token_name}")
    since = len(REQUESTS)
    job = docs.run('j.md says "seventeen"')
    check(job["status"] == "failed" and re.search("token|credential", job["message"]), "a revoked token is told of", job["message"])
    print(f"  the job says: {job['message']}")
    quiet(10)
    check(len(REQUESTS) - since < 12, "and nothing is asked over and over", len(REQUESTS) - since)
    tried = copydesk("project", "test", docs.id, fails=True)
    print("  the test says: " + " / ".join(tried.split("\n")))
    docs.use(narrow)
    tried = copydesk("project", "test", docs.id, fails=True)
    print("  of one without the scope for issues: " + " / ".join(tried.split("\n")))
    job = docs.run('k.md says "eighteen"')
    check(job["status"] == "completed" and not manual.pull(number_of(job))["labels"], "one without the scope for issues opens pull requests", job["message"])
    events = docs.ask("GET", f"job/{job['id']}/events?format=json")[1]
    told = json.dumps([job["message"], events])
    check("write:issue" in told, "and what is missing for labels is told", told[-1500:])
    known = len(docs.asks())
    manual.comment(ada, number_of(job), '@copydesk k.md says "nineteen"')
    asks = docs.settled(known + 1)
    note = next((ask["note"] for ask in asks if ask["ask"].startswith("comment") and ask["state"] == "refused" and "scope" in (ask["note"] or "")), None)
    check(note and "issue" in note, "and for comments", [(ask["ask"], ask["state"], ask["note"]) for ask in asks[:2]])
    token, _ = bot.token("write:repository", "write:issue")
    docs.use(token)
    job = docs.run('j.md says "seventeen"')
    check(job["status"] == "completed", "with a new token it works", job["message"])

    kills(docs, manual, ada)

    say("twenty at once")
    before = len(manual.pulls()), len(manual.branches())
    jobs = [docs.begin(f'many-{at}.md says "many {at}"') for at in range(20)]
    ends = [docs.ended(job, 400) for job in jobs]
    check(all(job["status"] == "completed" for job in ends), "all complete", [job["message"] for job in ends if job["status"] != "completed"])
    after = all_pulls(manual), all_branches(manual)
    check(len({job["prLink"] for job in ends}) == 20, "each has a pull request")
    check((len(after[0]) - before[0], len(after[1]) - before[1]) == (20, 20), "twenty branches, twenty pull requests",
          (before, len(after[0]), len(after[1])))

    say("the host away for half a minute")
    GITEA.stop()
    job = docs.begin('away.md says "away"')
    waiting = until(lambda: (now := docs.get(job))["status"] == "active" and "wait" in (now["message"] or "").lower() and now, 30)
    check(waiting, "the job waits and says so", docs.get(job))
    print(f"  the job says: {waiting and waiting['message']}")
    time.sleep(30)
    GITEA.start()
    end = docs.ended(job, 200)
    check(end["status"] == "completed", "and completes", end)
    check(len(all_pulls(manual)) == len(after[0]) + 1 and len(all_branches(manual)) == len(after[1]) + 1, "with one pull request")


def all_of(manual, path):
    found, page = [], 1
    while some := manual.get(f"{path}limit=50&page={page}"):
        found, page = found + some, page + 1
    return found


def all_pulls(manual):
    return all_of(manual, "pulls?state=all&")


def all_branches(manual):
    return [it["name"] for it in all_of(manual, "branches?") if it["name"].startswith("copydesk/")]


def kills(docs, manual, ada):
    for done in (False, True):
        say(f"killed between push and pull request, which Gitea has {'' if done else 'not '}opened")
        pulls, branches = len(manual.pulls()), len(manual.branches())
        gate = Gate("POST", r"/pulls$", done)
        job = docs.begin(f'kill-{int(done)}.md says "killed"')
        check(gate.reached.wait(60), "it asks for a pull request")
        SERVER.stop(signal.SIGKILL)
        gate.opened.set()
        SERVER.start()
        end = docs.ended(job, 120)
        check(end["status"] == "completed", "the job completes", end)
        check((len(manual.pulls()), len(manual.branches())) == (pulls + 1, branches + 1), "one branch, one pull request",
              (pulls, branches, len(manual.pulls()), len(manual.branches())))

    say("killed at four places of an answer")
    places = [("GET", r"/issues/comments/\d+$", False), ("GET", r"/collaborators/ada/permission$", False),
              ("POST", r"/issues/{pull}/comments$", False), ("POST", r"/issues/{pull}/comments$", True)]
    stories, known = [], len(docs.asks())
    for at, (method, path, done) in enumerate(places):
        job = docs.run(f'answer-{at}.md says "before"')
        pull = number_of(job)
        gate = Gate(method, path.replace("{pull}", str(pull)), done)
        manual.comment(ada, pull, f'@copydesk answer-{at}.md says "after"')
        check(gate.reached.wait(60), f"{method} {path} is reached" + (" and answered" if done else ""))
        stories.append((pull, gate))
    SERVER.stop(signal.SIGKILL)
    for _, gate in stories:
        gate.opened.set()
    SERVER.start()
    started = time.monotonic()
    asks = docs.settled(known + len(places), 400)
    print(f"  all are answered after {time.monotonic() - started:.0f} s")
    check(all(ask["state"] == "answered" for ask in asks[:len(places)]), "all are answered", asks[:len(places)])
    for (pull, _), (method, path, done) in zip(stories, places):
        check((manual.commits(pull), len(manual.replies(pull))) == (2, 1), f"{method} {path}: one follow-up, one reply",
              (manual.commits(pull), manual.replies(pull)))


def story_of_an_organisation(acme, token, people):
    say("an organisation")
    olga, ada, rex, sid, bot, tea, tim = people.values()
    root = acme.owner
    acme.put(root, "docs/index.md", "# Start\n\nThis is the manual.\n")
    token, _ = bot.token("write:repository", "write:issue")
    docs = Project("Acme", acme, token)
    acme.hook(docs.id)
    job = docs.run('a.md says "one"')
    check(job["status"] == "completed", "a job", job["message"])
    pull = number_of(job)
    for person in (tim, sid):
        acme.comment(person, pull, '@copydesk a.md says "evil"')
    asks = docs.settled(2)
    check(len(asks) == 2 and all(ask["state"] == "refused" for ask in asks), "who may read is not heard", asks)
    print(f"  why: {[ask['note'] for ask in asks]}")
    may = root.do("GET", f"repos/{acme.path}/collaborators/tea/permission")["permission"]
    check(may == "read", "what somebody may in a team is not said", may)
    root.do("PUT", f"repos/{acme.path}/collaborators/bot", {"permission": "admin"})
    root.do("PUT", f"repos/{acme.path}/collaborators/ada", {"permission": "write"})
    acme.comment(ada, pull, '@copydesk a.md says "two"')
    acme.comment(tim, pull, '@copydesk a.md says "evil"')
    asks = docs.settled(4)
    check(sorted(ask["state"] for ask in asks) == ["answered", "refused", "refused", "refused"], "an administrator is told of collaborators", asks)
    check((acme.commits(pull), len(acme.replies(pull))) == (2, 1), "one follow-up, one reply")
    root.do("PUT", f"repos/{acme.path}/collaborators/bot", {"permission": "write"})
    readers = next(team["id"] for team in root.do("GET", f"repos/{acme.path}/teams") if team["name"] == "readers")
    root.do("DELETE", f"teams/{readers}/repos/{acme.path}")
    acme.comment(tea, pull, '@copydesk a.md says "three"')
    asks = docs.settled(5)
    check(asks[0]["state"] == "answered" and acme.commits(pull) == 3, "where all teams may write, their members are heard", asks)
    root.do("PUT", f"repos/{acme.path}/collaborators/bot", {"permission": "admin"})
    acme.comment(tea, pull, '@copydesk a.md says "four"')
    asks = docs.settled(6)
    check(asks[0]["state"] == "answered" and acme.commits(pull) == 4, "also by an administrator", asks)


try:
    main()
finally:
    SERVER.stop()
    GITEA.stop()
leaks = [name for name in ("serve", "gitea") if PASSWORD in (WORK / f"{name}.log").read_text()]
check(not leaks, "nothing secret is in the log", leaks)
print(f"\n{len(RIGHT)} right, {len(WRONG)} wrong" + "".join(f"\n  {what}" for what in WRONG))
sys.exit(bool(WRONG))
