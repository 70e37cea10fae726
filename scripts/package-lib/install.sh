# Installs the package, runs it as its unit would, and removes it. Sourced by scripts/check-package.
# shellcheck shell=bash disable=SC2154

# A view of this machine's root folder: what is written goes into $upper alone.
image=$work/image upper=$work/layers/upper
make_root() {
  mkdir -p "$image" "$work/layers"
  mount -t tmpfs tmpfs "$work/layers" || return 1
  mkdir "$upper" "$work/layers/work"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$upper,workdir=$work/layers/work" "$image" || return 1
  mount -t proc proc "$image/proc" && mount --rbind /dev "$image/dev" && mount --make-rslave "$image/dev" || return 1
  # An empty /run says that no systemd runs there; /tmp is left alone for what is in it.
  mount -t tmpfs tmpfs "$image/run" && mount -t tmpfs tmpfs "$image/tmp"
}

server=
# Called by the cleanup of scripts/lib.sh.
stop_server() {
  if [ -n "$server" ]; then
    case $server in
      *.service) systemctl stop "$server" 2>/dev/null || true ;;
      *) kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true ;;
    esac
  fi
  server=
}
drop_root() {
  stop_server
  umount --recursive --lazy "$image" 2>/dev/null || true
  umount --lazy "$work/layers" 2>/dev/null || true
}
drop_policy() { drop_root; }

inside() { chroot "$image" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

# The value of the last line of a setting in the unit.
unit_value() { sed -n "s/^$1=//p" packaging/debian/copydesk.service | tail -n 1; }

# A command as somebody on the machine gives it, with the user and the configuration of the service.
as_service() {
  inside setpriv --reuid copydesk --regid copydesk --clear-groups env HOME=/var/lib/copydesk \
    COPYDESK_CONFIG=/etc/copydesk/copydesk.toml COPYDESK_LISTEN="127.0.0.1:$port" "$@"
}

start_by_systemd() {
  local properties=(-p "RootDirectory=$image" -p MountAPIVFS=yes -p "Environment=COPYDESK_LISTEN=127.0.0.1:$port") line
  while IFS= read -r line; do properties+=(-p "$line"); done < <(
    sed -n '/^\[Service\]/,/^\[Install\]/p' packaging/debian/copydesk.service | grep -E '^[A-Z][A-Za-z]+=' | grep -v '^ExecStart='
  )
  server=copydesk-check-$$.service
  systemd-run --quiet --collect --unit "$server" "${properties[@]}" /usr/bin/copydesk serve
}

# Without systemd: the user, the umask, no capabilities and no way to new ones, everything read-only but the data and a
# /tmp of its own, no homes, few devices.
start_by_hand() {
  local restrict=
  if command -v systemd-analyze >/dev/null && /usr/bin/python3 -c 'import seccomp' 2>/dev/null; then
    install -m 644 scripts/package-lib/restrict.py packaging/debian/copydesk.service "$image/run"
    restrict="/usr/bin/python3 /run/restrict.py /run/copydesk.service"
  else
    not_tried "of the unit: system calls, address families, memory that is written and run: Debian's python3-seccomp and systemd are missing"
  fi
  # shellcheck disable=SC2016 # it is for the shell inside
  unshare --mount -- bash -euc '
    image=$1; port=$2; umask=$3; files=$4; restrict=$5
    mount --bind "$image/var/lib/copydesk" "$image/var/lib/copydesk"
    for folder in tmp home root dev; do umount -R "$image/$folder" 2>/dev/null || true; mount -t tmpfs tmpfs "$image/$folder"; done
    chmod 1777 "$image/tmp"; chmod 700 "$image/home" "$image/root"
    for device in null zero full random urandom tty; do touch "$image/dev/$device"; mount --bind "/dev/$device" "$image/dev/$device"; done
    mount -t proc -o hidepid=invisible,subset=pid proc "$image/proc"
    mount -o remount,ro,bind "$image"
    mount -o remount,ro "$image/dev"; mount -o remount,ro "$image/home"; mount -o remount,ro "$image/root"
    umask "$umask"; ulimit -n "$files"
    exec chroot "$image" env -i PATH=/usr/bin:/bin HOME=/var/lib/copydesk COPYDESK_CONFIG=/etc/copydesk/copydesk.toml \
      COPYDESK_LISTEN="127.0.0.1:$port" setpriv --reuid copydesk --regid copydesk --clear-groups --no-new-privs \
      --bounding-set=-all --inh-caps=-all sh -c "
        cd /var/lib/copydesk
        if touch /usr/bin/x /etc/x 2>/dev/null; then echo it is not read-only >&2; exit 1; fi
        exec $restrict /usr/bin/copydesk serve"
  ' - "$image" "$port" "$(unit_value UMask)" "$(unit_value LimitNOFILE)" "$restrict" >"$work/serve.log" 2>&1 &
  server=$!
  not_tried "of the unit: RestrictNamespaces, Restart and what else only a running systemd does"
}

install_and_run() {
  local started=$EPOCHREALTIME seconds link
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  cp "$package" "$image/tmp/copydesk.deb"
  # What it needs is taken from this machine; what is missing there is an error.
  inside dpkg --install /tmp/copydesk.deb >"$work/install.log" 2>&1 || { cat "$work/install.log"; die "it cannot be installed"; }
  [ "$(inside stat -c '%a %U:%G' /etc/copydesk/copydesk.toml)" = "640 root:copydesk" ] || die "the configuration is not closed"
  [ "$(inside stat -c '%a %U' /var/lib/copydesk)" = "700 copydesk" ] || die "the data folder is not closed"
  inside man -w copydesk-serve >/dev/null 2>&1 || not_tried "man: it is not installed"
  if [ -d /run/systemd/system ]; then start_by_systemd; else start_by_hand; fi

  for attempt in $(seq 100); do
    as_service copydesk health >/dev/null 2>&1 && break
    [ "$attempt" -lt 100 ] || { tail -n 5 "$work/serve.log" 2>/dev/null || journalctl -u "$server" -n 5; die "it does not get ready"; }
    sleep 0.2
  done
  # In the data folder, because the service can write nowhere else.
  # shellcheck disable=SC2016 # it is for the shell inside
  as_service sh -euc '
    umask 077; cd /var/lib/copydesk
    git init -q -b main acme-docs; mkdir acme-docs/docs
    printf "# Welcome\n\nAcme Cloud is neccessary.\n" >acme-docs/docs/index.md
    git -C acme-docs add -A; git -C acme-docs -c user.name=Me -c user.email=me@example.com commit -qm "Write the docs"
    copydesk project create --name "Acme Docs" --repository /var/lib/copydesk/acme-docs >/dev/null
    COPYDESK_API_KEY=$(copydesk key create --project acme-docs); export COPYDESK_API_KEY
    copydesk job create "Fix the typos in docs/" --project acme-docs --url "http://$COPYDESK_LISTEN" --wait --json >job.json' \
    || { tail -n 20 "$work/serve.log"; die "the job did not complete"; }
  link=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["prLink"])' <"$image/var/lib/copydesk/job.json")
  python3 -c 'import sys, urllib.request; assert "necessary" in urllib.request.urlopen(sys.argv[1]).read().decode()' "$link"
  seconds=$(python3 -c "print(f'{$EPOCHREALTIME - $started:.1f}')")
  echo "from the package to the pull request: $seconds s"
  [ "${seconds%.*}" -lt 120 ] || die "that is more than two minutes"

  stop_server
  inside dpkg --remove copydesk >"$work/remove.log" 2>&1 || { cat "$work/remove.log"; die "it cannot be removed"; }
  [ -e "$image/etc/copydesk/copydesk.toml" ] || die "the configuration went with the program"
  inside dpkg --install /tmp/copydesk.deb >"$work/install.log" 2>&1 || { cat "$work/install.log"; die "it cannot be installed again"; }
  [ ! -L "$image/etc/systemd/system/copydesk-worker.service" ] || die "a unit stays masked when the package comes back"
  inside dpkg --purge copydesk >"$work/remove.log" 2>&1 || { cat "$work/remove.log"; die "it cannot be purged"; }
  what_is_left
}

# What is in the layer and not on the machine, but for the books of dpkg and caches that every package leaves.
what_is_left() {
  local left
  left=$(cd "$upper" && find . -mindepth 1 -not -path './var/lib/dpkg/*' -not -path './var/cache/*' -not -path './var/log/*' -printf '%P\n' \
    | while IFS= read -r path; do [ -e "/$path" ] || [ -c "$upper/$path" ] || echo "$path"; done | grep -v '^var/lib/copydesk/' || true)
  [ "$left" = var/lib/copydesk ] || die "left behind: $left"
  [ "$(stat -c '%a %U' "$image/var/lib/copydesk")" = "700 root" ] || die "the data does not belong to root"
  [ -e "$image/var/lib/copydesk/copydesk.db" ] || die "the data is gone"
  if grep -s copydesk "$image/etc/passwd" "$image/etc/group" "$image/etc/shadow"; then die "the user is left"; fi
  echo "removed: nothing is left but the data"
}
