"""Runs a program under the system calls, address families and memory rules of a unit: restrict.py UNIT PROGRAM …

For machines without systemd. Needs Debian's python3-seccomp and systemd-analyze, which knows the sets of system calls.
"""
import ctypes
import errno
import os
import re
import socket
import subprocess
import sys

import seccomp

PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1


def calls(name):
    """The system calls of a set such as @system-service, with those of the sets in it."""
    told = subprocess.run(["systemd-analyze", "syscall-filter", name], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = set()
    for line in map(str.strip, told.splitlines()[1:]):
        if line and not line.startswith("#"):
            found |= calls(line) if line.startswith("@") else {line}
    return found


unit = open(sys.argv[1]).read()
# systemd always allows the calls of @default.
allowed = calls("@default")
for refused, names in re.findall(r"^SystemCallFilter=(~?)(.+)$", unit, re.M):
    for name in names.split():
        allowed = allowed - calls(name) if refused else allowed | calls(name)
rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
for call in sorted(allowed - {"socket"}):
    try:
        rules.add_rule(seccomp.ALLOW, call)
    except (RuntimeError, ValueError):
        # Of another architecture, or newer than the library.
        continue
for family in re.search(r"^RestrictAddressFamilies=(.+)$", unit, re.M)[1].split():
    rules.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, getattr(socket, family)))
rules.load()
# systemd refuses the same with its own filter; the kernel (6.3 or newer) has a switch for it.
arguments = [ctypes.c_ulong(argument) for argument in (PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)]
if "MemoryDenyWriteExecute=yes" in unit and ctypes.CDLL(None).prctl(*arguments):
    sys.exit("the kernel cannot refuse memory that is written and run")
# One that must not work.
try:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
    sys.exit("the filter does not hold")
except PermissionError:
    os.execvp(sys.argv[2], sys.argv[2:])
