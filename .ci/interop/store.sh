# Sourced by .ci/readers, .ci/lake and .ci/cluster from the root of the checkout: functions that make the store of a
# simulated account, start servers and install packages.
# shellcheck shell=bash disable=SC2034
root=$PWD
cache=${XDG_CACHE_HOME:-$HOME/.cache}/spendsync-readers
GOCACHE=$(go env GOCACHE) # some steps set XDG_CACHE_HOME
export GOCACHE
work=$(mktemp -d)
started=()
skipped=()
finish() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait # a server that is still stopping would write into the folder while it is removed
  rm -rf "$work"
}
trap finish EXIT

missing=()
command -v curl >/dev/null || missing+=(curl)

# install_missing: installs the Debian packages in `missing`.
install_missing() {
  [ ${#missing[@]} -eq 0 ] || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"; }
}

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

# python_with FILE: sets python to an interpreter with the packages of a requirements file.
python_with() {
  local venv
  venv=$cache/$(basename "$1" .txt)-$(sha256sum "$1" | cut -c1-16)
  if [ ! -e "$venv/.whole" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$1"
    touch "$venv/.whole"
  fi
  python=$venv/bin/python
}

# free_port: prints a port on which nothing listens.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# wait_for URL PID: waits until the server with this process ID answers.
wait_for() {
  for _ in $(seq 600); do
    if curl -sf -o /dev/null "$1"; then return; fi
    kill -0 "$2"
    sleep 0.5
  done
  echo "$1 does not answer"
  return 1
}

# make_store: makes the store of a simulated account that was synced 45 days ago and today, so that days in between are
# lost. Then yesterday is restated and synced again.
make_store() {
  GOBIN=$work go install ./cmd/spendsync ./cmd/adsim
  go test -c -o "$work/spendsync.test" ./cmd/spendsync
  local then
  then=$(date -u -d '-45 days' +%FT%TZ)
  "$work/adsim" -addr 127.0.0.1:0 -campaigns 12 -rows-per-day 600 -prepaid 200000 -now "$then" -frozen >"$work/variables" 2>/dev/null &
  started+=($!)
  until grep -q REPORT_PASSWORD "$work/variables"; do sleep 0.2; done
  # shellcheck source=/dev/null
  . "$work/variables"
  export SPENDSYNC_DATA_DIR=$work/data SPENDSYNC_ACCOUNT=acme SPENDSYNC_REQUESTS_PER_MINUTE=120
  export SPENDSYNC_METRICS_FILE=$work/metrics/spendsync.prom SPENDSYNC_PAYOUTS=$work/payouts.csv
  printf 'from,to,campaign,creative,source,payout\n2026-01-01,,,,,9.50\n' >"$work/payouts.csv"
  mkdir "$work/metrics"
  cp -r .ci/interop "$work/interop"
  TEST_PROCESS=spendsync TEST_NOW=$then "$work/spendsync.test" sync 2>"$work/log" || failed_sync
  { echo day,campaign,source,clicks,approved,held,refused,revenue
    "$work/spendsync" query --raw -c "SELECT report_date, campaign_id, source_id, clicks, 2, 1, 1, 19 FROM spend_daily
      WHERE clicks > 9 ORDER BY ALL LIMIT 1" | sed 1d; } >"$work/tracker.csv"
  SPENDSYNC_PAYOUTS+=,$work/tracker.csv
  control clock "{\"now\":\"$(date -u +%FT%TZ)\",\"standing\":false}"
  "$work/spendsync" sync 2>"$work/log" && failed_sync || [ $? = 11 ] || failed_sync # 11: days are lost
  restate_and_sync 104
}

failed_sync() { cat "$work/log"; exit 1; }

# control COMMAND JSON: sends a command to the simulated service.
control() { curl -sf -o /dev/null -d "$2" "${SPENDSYNC_ADVERTISER_URL%/api}/_sim/$1"; }

# restate_and_sync PERCENT: changes yesterday's numbers, and publishes a new generation.
restate_and_sync() {
  control restate "{\"day\":\"$(TZ=America/Chicago date -d yesterday +%F)\",\"kind\":\"multiply\",\"percent\":$1}"
  "$work/spendsync" sync 2>"$work/log" || failed_sync
}
