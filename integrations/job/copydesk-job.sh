#!/bin/sh
# Creates a Copydesk job and waits for its end. Needs curl and jq. Settings come from the environment:
#   COPYDESK_URL        where Copydesk is reached, e.g. https://copydesk.example.com
#   COPYDESK_PROJECT    the project
#   COPYDESK_API_KEY    an admin key with write scope
#   COPYDESK_PROMPT     what to do
# and, if wanted:
#   COPYDESK_BASE_REF         the branch to start from
#   COPYDESK_MODEL            the model or engine
#   COPYDESK_DRAFT            true: open the pull request as a draft
#   COPYDESK_IDEMPOTENCY_KEY  makes a second run of the same step find the first one's job
#   COPYDESK_TIMEOUT          seconds to wait (2100)
#   COPYDESK_INTERVAL         seconds between looks (5)
#   COPYDESK_OUTPUT           a file for the results, as NAME=VALUE
# Exit code: 0 if the job completed, 1 if it failed or was archived, 2 if it could not be created or followed.
set -eu

fail() {
  printf 'copydesk: %s\n' "$1" >&2
  exit 2
}

for name in COPYDESK_URL COPYDESK_PROJECT COPYDESK_API_KEY COPYDESK_PROMPT; do
  eval "value=\${$name:-}"
  [ -n "$value" ] || fail "$name is not set"
done
command -v curl >/dev/null || fail "curl is missing"
command -v jq >/dev/null || fail "jq is missing"

timeout=${COPYDESK_TIMEOUT:-2100} interval=${COPYDESK_INTERVAL:-5}
base=${COPYDESK_URL%/}/v2/agent/$COPYDESK_PROJECT/job
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# ask METHOD ADDRESS [BODY FILE]: the status on standard output, the answer in $folder/answer. The key goes in through a
# pipe: arguments can be read by everybody on the machine.
ask() {
  {
    printf 'header = "Authorization: Bearer %s"\n' "$COPYDESK_API_KEY"
    if [ $# -gt 2 ]; then
      printf 'header = "Content-Type: application/json"\ndata-binary = "@%s"\n' "$3"
      [ -z "${COPYDESK_IDEMPOTENCY_KEY:-}" ] || printf 'header = "Idempotency-Key: %s"\n' "$COPYDESK_IDEMPOTENCY_KEY"
    fi
  } | curl --config - --silent --show-error --max-time 60 --request "$1" --output "$folder/answer" \
    --dump-header "$folder/headers" --write-out '%{http_code}' "$2" || true
}

# Seconds to wait before another try.
pause() {
  after=$(tr -d '\r' <"$folder/headers" 2>/dev/null | sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9][0-9]*\)$/\1/p' | tail -n 1)
  sleep "${after:-$interval}"
}

# What went wrong, in the server's own words where it has any.
reason() {
  jq -r '.error // empty' "$folder/answer" 2>/dev/null || true
}

jq -n --arg prompt "$COPYDESK_PROMPT" --arg base "${COPYDESK_BASE_REF:-}" --arg model "${COPYDESK_MODEL:-}" \
  --arg draft "${COPYDESK_DRAFT:-}" '{prompt: $prompt}
    + (if $base == "" then {} else {baseRef: $base} end)
    + (if $model == "" then {} else {model: $model} end)
    + (if $draft == "true" then {draft: true} else {} end)' >"$folder/job"

# Without an idempotency key a creation whose answer was lost must not be repeated: there would be two jobs.
tries=1
[ -z "${COPYDESK_IDEMPOTENCY_KEY:-}" ] || tries=5
while :; do
  : >"$folder/answer"
  : >"$folder/headers"
  code=$(ask POST "$base" "$folder/job")
  tries=$((tries - 1))
  case $code in
    201) break ;;
    429 | 503) [ "$tries" -gt 0 ] || fail "the job could not be created ($code): $(reason)" ;;
    000 | 5??) [ "$tries" -gt 0 ] || fail "the server could not be reached ($code)" ;;
    *) fail "the job could not be created ($code): $(reason)" ;;
  esac
  pause
done
id=$(jq -r .id "$folder/answer")
printf 'copydesk: job %s\n' "$id"

cancel() {
  trap - INT TERM
  ask POST "$base/$id/cancel" >/dev/null
  printf 'copydesk: cancelled\n' >&2
  exit 2
}
trap cancel INT TERM

began=$(date +%s)
while :; do
  code=$(ask GET "$base/$id")
  case $code in
    200)
      status=$(jq -r .status "$folder/answer")
      [ "$status" = active ] || break
      ;;
    000 | 429 | 5??) ;;
    *) fail "the job could not be read ($code): $(reason)" ;;
  esac
  [ $(($(date +%s) - began)) -lt "$timeout" ] || fail "the job has not ended within $timeout seconds"
  pause
done

outcome=$(jq -r '.outcome // ""' "$folder/answer")
link=$(jq -r '.prLink // ""' "$folder/answer")
# In one line: a file of NAME=VALUE has no other way.
message=$(jq -r '.message // "" | gsub("[\\r\\n]+"; " ")' "$folder/answer")
if [ -n "${COPYDESK_OUTPUT:-}" ]; then
  printf '%s=%s\n' job-id "$id" status "$status" outcome "$outcome" pr-link "$link" message "$message" >>"$COPYDESK_OUTPUT"
fi
printf 'copydesk: %s (%s) %s\n' "$status" "$outcome" "$message"
[ -z "$link" ] || printf 'copydesk: %s\n' "$link"
[ "$status" = completed ]
