# Shared by scripts/test, scripts/bench and scripts/torture. Sourced, not run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

# What comes next, and how long the script has been at it.
say() { printf '\n== %d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# Everything that a run leaves lying about goes here, and goes away with the run.
work=$(mktemp -d "${TMPDIR:-/tmp}/copydesk-XXXXXX")
chmod 711 "$work"
mkdir "$work/tmp"
export TMPDIR="$work/tmp"
# A script that starts a server says here how it is stopped. Not in a trap of its own: that would lose the status.
stop_server() { :; }
clickhouse_pid=
# What keeps Debian from starting servers, if we have put it there.
policy=
drop_policy() { [ -z "$policy" ] || rm -f "$policy"; policy=; }
cleanup() {
  local status=$?
  trap - EXIT INT TERM
  drop_policy
  stop_server
  [ -z "$clickhouse_pid" ] || kill "$clickhouse_pid" 2>/dev/null || true
  stop_postgres
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# npm_locked NAME FOLDER: installs what scripts/NAME/package-lock.json names into FOLDER, each package by its hash. Nothing
# of a package is run by that.
npm_locked() {
  mkdir -p "$2"
  cp "$root/scripts/$1/package.json" "$root/scripts/$1/package-lock.json" "$2"
  (cd "$2" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
}

# install_packages COMMAND=PACKAGE …: installs what is missing if we may, else says what to install.
install_packages() {
  local missing=() pair
  for pair in "$@"; do
    have "${pair%%=*}" || missing+=("${pair#*=}")
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing ${missing[*]}"
    apt-get update -q
    # Debian would otherwise start a PostgreSQL server of its own, for which nobody asked.
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
      mkdir -p /etc/postgresql-common
      echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
    fi
    # The same goes for the other servers; tests start their own.
    if [ ! -e /usr/sbin/policy-rc.d ]; then
      policy=/usr/sbin/policy-rc.d
      printf '#!/bin/sh\nexit 101\n' >"$policy"
      chmod 755 "$policy"
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
      -o Dpkg::Options::=--force-confold "${missing[@]}"
    drop_policy
  else
    die "Missing: install these packages (Debian's names) and run again: ${missing[*]}"
  fi
}

have() {
  case $1 in
    initdb) [ -n "$(postgres_bin)" ] ;;
    # Servers, which Debian keeps off the PATH of users.
    nginx | fcgiwrap | sshd) command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# The newest PostgreSQL server here; Debian keeps it off the PATH.
postgres_bin() {
  local initdb
  initdb=$(find /usr/lib/postgresql -maxdepth 3 -name initdb 2>/dev/null | sort -V | tail -n 1)
  [ -n "$initdb" ] || initdb=$(command -v initdb || true)
  [ -z "$initdb" ] || dirname "$initdb"
}

# PostgreSQL refuses to run as root, so root hands it to the user of the Debian package.
as_postgres() {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --clear-groups -- "$@"; else "$@"; fi
}

# Starts a server that listens on a socket in the temporary folder only, and exports its address. Test databases
# need not survive a power cut, so it does not sync and, where there is room, is in memory: making a database is mostly
# making files. START_POSTGRES_FSYNC=on for figures that should count.
postgres_data=
start_postgres() {
  local bin data
  bin=$(postgres_bin)
  postgres_data=$work/postgres
  if [ "${START_POSTGRES_FSYNC:-off}" = off ] && [ "$(free_kilobytes /dev/shm)" -gt 4000000 ]; then
    postgres_data=$(mktemp -d /dev/shm/copydesk-XXXXXX)
  fi
  data=$postgres_data
  mkdir -p "$data"
  if [ "$(id -u)" = 0 ]; then chown postgres "$data"; fi
  as_postgres "$bin/initdb" -D "$data/data" -U copydesk --auth=trust --no-sync -E UTF8 --locale=C.UTF-8 >"$work/initdb.log" 2>&1 \
    || { cat "$work/initdb.log" >&2; die "initdb failed"; }
  as_postgres "$bin/pg_ctl" -D "$data/data" -w -t 60 -l "$data/log" -o "-c listen_addresses='' \
    -c unix_socket_directories='$data' -c fsync=${START_POSTGRES_FSYNC:-off} -c max_connections=300 ${START_POSTGRES_OPTIONS:-}" start >"$work/pg_ctl.log" 2>&1 \
    || { cat "$work/pg_ctl.log" "$data/log" >&2; die "PostgreSQL did not start"; }
  export COPYDESK_TEST_POSTGRES="postgres://copydesk@localhost/postgres?host=$data"
}

# A command that restarts that server at once, as after a crash.
restart_postgres_command() {
  local as_postgres=
  if [ "$(id -u)" = 0 ]; then as_postgres="setpriv --reuid postgres --regid postgres --clear-groups --"; fi
  echo "$as_postgres '$(postgres_bin)/pg_ctl' -D '$postgres_data/data' -m immediate -w -t 60 -l '$postgres_data/log' restart"
}

free_kilobytes() { df -Pk "$1" 2>/dev/null | awk 'NR == 2 { free = $4 } END { print free + 0 }'; }

stop_postgres() {
  [ -n "$postgres_data" ] || return 0
  if [ -e "$postgres_data/data/postmaster.pid" ]; then
    as_postgres "$(postgres_bin)/pg_ctl" -D "$postgres_data/data" -m immediate -w stop >/dev/null 2>&1 || true
  fi
  rm -rf "$postgres_data"
}

# Starts a server with ClickHouse's engine, unless one is named already, and exports its address.
start_clickhouse() {
  local venv=$root/target/venv-clickhouse wanted=$root/scripts/clickhouse/requirements.txt port=$work/clickhouse.port
  [ -z "${COPYDESK_TEST_CLICKHOUSE_URL:-}" ] || return 0
  if ! cmp -s "$wanted" "$venv/installed"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --require-hashes --no-deps --only-binary :all: \
      -r "$wanted"
    cp "$wanted" "$venv/installed"
  fi
  "$venv/bin/python" "$root/scripts/clickhouse/shim.py" "$work/clickhouse" >"$port" 2>"$work/clickhouse.log" &
  clickhouse_pid=$!
  until [ -s "$port" ]; do
    kill -0 "$clickhouse_pid" 2>/dev/null || { cat "$work/clickhouse.log" >&2; die "ClickHouse's engine did not start"; }
    sleep 0.1
  done
  COPYDESK_TEST_CLICKHOUSE_URL=http://127.0.0.1:$(cat "$port")
  export COPYDESK_TEST_CLICKHOUSE_URL
}
