"""Holds `copydesk classify --json -` against labelled user agents; see scripts/score-agents."""
import collections
import json
import pathlib
import re
import subprocess
import sys
import zipfile

# At least so many AI agents as their kind; at most so many bots as people, browsers of today as machines, and bots as AI
# because they ask for Markdown.
ENOUGH, PEOPLE, MACHINES, MARKDOWN = 0.98, 0.01, 0.003, 0.05

# The kinds of AI agents, by the names that operators give them. What the list only calls an AI crawler may be any kind
# of crawler; what its operator says is more is held to that.
AI = {"assistant", "coding_agent", "training_crawler", "ai_search"}
CRAWLER = {"training_crawler", "ai_search"}
RIGHT = [
    ("-User", {"assistant", "coding_agent"}), ("PerplexityUser", {"assistant"}), ("-SearchBot", {"ai_search"}), ("AISearchBot", {"ai_search"}),
    ("PerplexityBot", {"ai_search"}), ("GPTBot", {"training_crawler"}), ("laude[bB]ot", {"training_crawler"}),
    ("CCBot", {"training_crawler"}), ("Bytespider", {"training_crawler"}), ("externalagent", {"training_crawler"}),
    ("DeepSeekBot", {"training_crawler"}), ("training", {"training_crawler"}), ("FacebookBot", {"training_crawler"}),
    ("AI2Bot", {"training_crawler"}), ("img2dataset", {"training_crawler"}), ("laion", {"training_crawler"}),
    ("NotebookLM", {"assistant"}), ("Deep-Research", {"assistant"}), ("DuckAssist", {"assistant"}),
    ("kagi-fetcher", {"assistant"}), ("Devin", {"coding_agent", "assistant"}), ("CloudVertexBot", {"ai_search"}),
    ("AutoRAG", {"ai_search"}), ("iAskBot", {"ai_search"}), ("LinkupBot", {"ai_search"}), ("Tavily", {"ai_search"}),
    ("externalfetcher", {"assistant"}), ("Google-Agent", {"assistant"}), ("GoogleAgent", {"assistant"}),
    ("Amazonbot", {"training_crawler"}), ("YouBot", {"ai_search"}), ("webindexer", {"ai_search"}),
]
# Words of robots.txt: a request that carries one is forged, so there is no right kind.
NEVER = ("Google-Extended", "Applebot-Extended")
# The other kinds are printed and not held against a limit: that list's tags are by the trade of the operator, ours by
# what the machine does.
OTHERS = {
    "search-engine": {"search_engine"} | CRAWLER, "feed-reader": {"feed_reader"}, "http-library": {"library"},
    "social-preview": {"preview"}, "monitoring": {"monitor"}, "scanner": {"monitor"},
}


def verdicts(binary, user_agents, *flags):
    text = "\n".join(" ".join(user_agent.splitlines()) for user_agent in user_agents) + "\n"
    ran = subprocess.run([binary, "classify", "--json", *flags, "-"], input=text.encode(), stdout=subprocess.PIPE, check=True)
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(user_agents)
    return found


def right_kind(entry):
    if any(word in entry["pattern"] for word in NEVER):
        return None
    for word, kinds in RIGHT:
        if word in entry["pattern"]:
            return kinds
    return AI if "ai-crawler" in entry.get("tags", []) else None


def crawlers(binary, packages):
    entries = json.loads((packages / "crawler-user-agents/crawler-user-agents.json").read_text())
    cases = [(entry, user_agent) for entry in entries for user_agent in entry.get("instances", [])]
    found = verdicts(binary, [user_agent for _, user_agent in cases])
    seen, wrong, people = collections.Counter(), collections.Counter(), 0
    for (entry, user_agent), verdict in zip(cases, found):
        kinds = right_kind(entry)
        if kinds:
            seen["AI"] += 1
            if verdict["class"] not in kinds:
                wrong["AI"] += 1
                print(f"  AI: {verdict['class']} ({verdict['rule']}), not {' or '.join(sorted(kinds))}: {user_agent}")
        for tag in entry.get("tags", []):
            if tag in OTHERS:
                seen[tag] += 1
                wrong[tag] += verdict["class"] not in OTHERS[tag]
        if verdict["counts_as"] == "human":
            people += 1
            print(f"  taken for a person: {user_agent}")
    print(f"crawler-user-agents: {len(cases)} user agents, {people} taken for people ({people / len(cases):.2%})")
    for tag in sorted(seen):
        print(f"  {tag}: {seen[tag] - wrong[tag]} of {seen[tag]} as their kind ({1 - wrong[tag] / seen[tag]:.1%})")
    return 1 - wrong["AI"] / seen["AI"], people / len(cases), markdown(binary, cases, found)


def markdown(binary, cases, found):
    """The share of bots that are no AI agents and would be because they ask for Markdown."""
    others = [user_agent for (_, user_agent), verdict in zip(cases, found) if verdict["counts_as"] == "other"]
    asked = verdicts(binary, others, "--path", "/page.md")
    taken = sum(verdict["counts_as"] == "ai" for verdict in asked)
    print(f"  asking for Markdown makes {taken} of {len(others)} other machines AI ({taken / len(others):.2%})")
    return taken / len(others)


def woothee(binary, packages):
    """Test sets of 2012 to 2021: crawlers, and browsers of that time, which are only printed."""
    cases = []
    for file in sorted((packages / "woothee/woothee/testsets").glob("*.yaml")):
        targets = re.findall(r"^- target: (['\"])(.*)\1$", file.read_text(), re.M)
        kind = "crawlers" if file.name.startswith("crawler") else "browsers" if re.match("pc_|smartphone", file.name) else None
        cases += [(kind, user_agent) for _, user_agent in targets if kind]
    count, wrong = collections.Counter(), collections.Counter()
    for (kind, user_agent), verdict in zip(cases, verdicts(binary, [user_agent for _, user_agent in cases])):
        count[kind] += 1
        if (verdict["counts_as"] == "human") != (kind == "browsers"):
            wrong[kind] += 1
            print(f"  {kind}: {verdict['class']} ({verdict['rule']}): {user_agent}")
    for kind in count:
        print(f"woothee: {count[kind]} {kind}, {wrong[kind]} taken for something else")
    return wrong["crawlers"] / count["crawlers"]


def browsers(binary, name, user_agents):
    wrong = 0
    for user_agent, verdict in zip(user_agents, verdicts(binary, user_agents)):
        if verdict["counts_as"] != "human":
            wrong += 1
            print(f"  no machine: {verdict['class']} ({verdict['rule']}): {user_agent}")
    distinct = len(set(user_agents))
    print(f"{name}: {len(user_agents)} browsers ({distinct} different), {wrong} counted as machines")
    return wrong / len(user_agents)


def of_today(packages, wheels):
    yield "user-agents", [it["userAgent"] for it in json.loads((packages / "user-agents/dist/user-agents.json").read_text())]
    yield "top-user-agents", json.loads((packages / "top-user-agents/src/index.json").read_text())
    wheel = zipfile.ZipFile(next(wheels.glob("fake_useragent-*.whl")))
    lines = wheel.read("fake_useragent/data/browsers.jsonl").decode().splitlines()
    yield "fake-useragent", [json.loads(line)["useragent"] for line in lines]


def main():
    binary, packages, wheels = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    known, people, asked = crawlers(binary, packages)
    people = max(people, woothee(binary, packages))
    machines = max(browsers(binary, name, user_agents) for name, user_agents in of_today(packages, wheels))
    print(f"AI agents as their kind: {known:.2%} (at least {ENOUGH:.0%}); bots as people: {people:.2%} (at most {PEOPLE:.0%}); "
          f"browsers as machines: {machines:.3%} (at most {MACHINES:.1%}); bots as AI for Markdown: {asked:.2%} (at most {MARKDOWN:.0%})")
    return 0 if known >= ENOUGH and people < PEOPLE and machines < MACHINES and asked < MARKDOWN else 1


sys.exit(main())
