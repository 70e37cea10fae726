"""Holds the variables of a rendered chart against the program: chart-settings.py RENDERED BINARY"""
import subprocess
import sys
import tempfile

import yaml

documents = [document for document in yaml.safe_load_all(open(sys.argv[1])) if document]
secrets = {d["metadata"]["name"]: d["stringData"] for d in documents if d["kind"] == "Secret"}
deployments = [d for d in documents if d["kind"] == "Deployment"]
assert len(deployments) == 2, "a server and workers"
for deployment in deployments:
    pod = deployment["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"], deployment["metadata"]["name"]
    mounted = {volume["name"] for volume in pod["volumes"]}
    for container in pod.get("initContainers", []) + pod["containers"]:
        assert container["securityContext"]["capabilities"]["drop"] == ["ALL"], container["name"]
        assert all(mount["name"] in mounted for mount in container["volumeMounts"]), container["name"]
    container = pod["containers"][0]
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    for source in container["envFrom"]:
        environment |= secrets[source["secretRef"]["name"]]
    # The root of a volume belongs to root and is open to others, and Copydesk takes no such data folder.
    data = environment["COPYDESK_DATA_DIR"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert data not in mounts and any(data.startswith(f"{mount}/") for mount in mounts), data
    for command in (container["command"] for container in pod.get("initContainers", [])):
        assert f"install -d -m 0700 {data} && " in command[-1] and f" {data}/credentials.key" in command[-1], command
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[2], "config"], env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL)
print("the program takes the settings of the chart")
