"""Holds `copydesk classify --json -` against labelled user agents; see scripts/score-agents."""
import collections
import json
import pathlib
import subprocess
import sys

ENOUGH, TOO_MANY = 0.98, 0.001

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


def verdicts(binary, user_agents):
    text = "\n".join(" ".join(user_agent.splitlines()) for user_agent in user_agents) + "\n"
    ran = subprocess.run([binary, "classify", "--json", "-"], input=text.encode(), stdout=subprocess.PIPE, check=True)
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
    print(f"crawler-user-agents: {len(cases)} user agents, {people} taken for people")
    for tag in sorted(seen):
        print(f"  {tag}: {seen[tag] - wrong[tag]} of {seen[tag]} as their kind ({1 - wrong[tag] / seen[tag]:.1%})")
    return 1 - wrong["AI"] / seen["AI"]


def browsers(binary, packages):
    entries = json.loads((packages / "user-agents/dist/user-agents.json").read_text())
    user_agents = [entry["userAgent"] for entry in entries]
    wrong = 0
    for user_agent, verdict in zip(user_agents, verdicts(binary, user_agents)):
        if verdict["counts_as"] != "human":
            wrong += 1
            print(f"  no machine: {verdict['class']} ({verdict['rule']}): {user_agent}")
    distinct = len(set(user_agents))
    print(f"user-agents: {len(user_agents)} browsers ({distinct} different), {wrong} counted as machines")
    return wrong / len(user_agents)


def main():
    binary, packages = sys.argv[1], pathlib.Path(sys.argv[2])
    known, machines = crawlers(binary, packages), browsers(binary, packages)
    print(f"AI agents as their kind: {known:.2%} (at least {ENOUGH:.0%}); browsers as machines: {machines:.3%} (at most {TOO_MANY:.1%})")
    return 0 if known >= ENOUGH and machines <= TOO_MANY else 1


sys.exit(main())
