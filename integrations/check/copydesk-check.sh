#!/bin/sh
# Runs the docs checks of Copydesk over a repository. Needs git and the program copydesk. Settings, if wanted:
#   COPYDESK_PROGRAM     the program (copydesk)
#   COPYDESK_FOLDER      the folder to check (.)
#   COPYDESK_DOCS_PATHS  folders in it that hold documentation, one a line
#   COPYDESK_BASE        a commit or branch: only what is new since then counts
#   COPYDESK_FORMAT      text, json, sarif or github (text)
#   COPYDESK_OUTPUT      a file for what was found, instead of standard output
# Exit code: that of `copydesk check`: 0 if nothing was found, 1 if something was, 2 if it could not be checked.
set -eu

program=${COPYDESK_PROGRAM:-copydesk} folder=${COPYDESK_FOLDER:-.} base=${COPYDESK_BASE:-}
if ! command -v "$program" >/dev/null; then
  printf 'copydesk: the program %s is missing\n' "$program" >&2
  exit 2
fi

set -- --format "${COPYDESK_FORMAT:-text}"
while IFS= read -r path; do
  [ -z "$path" ] || set -- "$@" --docs-path "$path"
done <<END
${COPYDESK_DOCS_PATHS:-}
END

if [ -n "$base" ]; then
  # Checkouts of CI mostly hold nothing but the newest commit.
  if ! git -C "$folder" rev-parse --verify --quiet --end-of-options "$base^{commit}" >/dev/null; then
    if git -C "$folder" fetch --quiet --no-tags --depth=1 origin -- "$base"; then
      base=$(git -C "$folder" rev-parse FETCH_HEAD)
    fi
  fi
  set -- "$@" --base "$base"
fi

if [ -n "${COPYDESK_OUTPUT:-}" ]; then
  exec "$program" check "$@" -- "$folder" >"$COPYDESK_OUTPUT"
fi
exec "$program" check "$@" -- "$folder"
