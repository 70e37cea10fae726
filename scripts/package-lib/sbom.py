"""What the program is made of, as CycloneDX JSON: sbom.py <METADATA >SBOM, METADATA from `cargo metadata --format-version 1`

Only what is in the binary: dependencies of tests and of build scripts are left out.
"""
import datetime
import json
import os
import sys

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
program = next(package for package in metadata["packages"] if package["name"] == "copydesk-cli")


def needed(node):
    """What a package needs to run, and not to be built or tested: a dependency of the kind null."""
    return [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]


reached, waiting = set(), [program["id"]]
while waiting:
    current = waiting.pop()
    if current not in reached:
        reached.add(current)
        waiting += needed(nodes[current])


def reference(identity):
    package = packages[identity]
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(identity):
    package = packages[identity]
    entry = {"type": "library", "bom-ref": reference(identity), "name": package["name"], "version": package["version"],
             "purl": reference(identity)}
    if package["license"]:
        # Old packages write MIT/Apache-2.0, which is no expression.
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    return entry


ordered = sorted(reached, key=lambda identity: (packages[identity]["name"], packages[identity]["version"]))
when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
top = component(program["id"]) | {"type": "application"}
json.dump({
    "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
    "metadata": {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": top},
    "components": [component(identity) for identity in ordered if identity != program["id"]],
    "dependencies": [{"ref": reference(identity), "dependsOn": sorted({reference(dep) for dep in needed(nodes[identity])})}
                     for identity in ordered],
}, sys.stdout, indent=1)
print()
