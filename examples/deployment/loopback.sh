#!/usr/bin/env bash
# A whole study on one machine, with real processes and TLS: a coordinator and, unless told otherwise, three hospitals
# with mock data. Every step is a command a person would type; in a real study everybody types on a machine of their own.
#
#   examples/deployment/loopback.sh FOLDER [PORT [DRAFT.toml DATA SITE...]]
#
# Needs `secure-sapefl` (with the extra "deploy") on the PATH. FOLDER must not exist yet. DATA holds a SITE.csv each.
set -euo pipefail

folder=${1:?"name a folder that does not exist yet"}
port=${2:-9092}
draft=$(realpath "${3:-$(dirname "$0")/trial.toml}")
data=${4:+$(realpath "$4")}
sites=("${@:5}")
[ "${#sites[@]}" -gt 0 ] || sites=(north east south)
study=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$draft")
keys=$(sed -n 's/^keys = "\(.*\)"$/\1/p' "$draft")
umask 077
mkdir "$folder" && cd "$folder"

say() { printf '\n== %s\n' "$*"; }
last_words() { printf '\n%s ended before its time. It said:\n' "$1" >&2 && tail -n 5 "$1.txt" >&2 && exit 1; }

say "Everybody makes their own key; the public halves go to the coordinator and the custodian"
secure-sapefl keys site --name coordinator --out coordinator.key
for site in "${sites[@]}"; do
  secure-sapefl keys site --name "$site" --out "$site.key"
done

say "The custodian makes what the sites share, and seals a copy for each"
public=("${sites[@]/%/.pub}")
secure-sapefl keys cohort --study "$study" --keys "${keys:-shared}" --out sealed "${public[@]/#/--for=}" | tee cohort.txt
fingerprint=$(sed -n 's/^.* fingerprint: //p' cohort.txt)

say "The coordinator signs the study, with mock data to try it on"
secure-sapefl study new --from "$draft" --coordinator coordinator.key "${public[@]/#/--site=}" --mock mock

say "TLS: an authority of our own, and the server's certificate"
secure-sapefl server certificates --out tls --host 127.0.0.1
mkdir nodes

say "Each site's owner makes the site's folder, reviews the study, and approves it"
for site in "${sites[@]}"; do
  secure-sapefl site init --home "$site" --identity "$site.key" --data "${data:-mock/mock-}${data:+/}$site.csv" \
    --sealed "sealed/$site.sealed" --fingerprint "$fingerprint"
  secure-sapefl site review study.toml --home "$site" > "$site.review.txt"
  secure-sapefl site approve study.toml --home "$site"
done

say "The server starts; then the sites"
secure-sapefl server start --study study.toml --key coordinator.key --state server \
  --listen "127.0.0.1:$port" --tls tls --node-keys nodes > server.txt 2>&1 &
declare -A process=([server]=$!)
trap 'kill "${process[@]}" 2> /dev/null || true' EXIT
for site in "${sites[@]}"; do
  secure-sapefl site start --study study.toml --home "$site" --server "127.0.0.1:$port" --ca tls/ca.pem \
    > "$site.txt" 2>&1 &
  process[$site]=$!
done

say "Each relay's public key goes to the coordinator, who admits it"
for site in "${sites[@]}"; do
  until [ -f "$site.run/node.key.pub" ]; do
    kill -0 "${process[$site]}" 2> /dev/null || last_words "$site"
    sleep 0.2
  done
  cp "$site.run/node.key.pub" "nodes/$site.pub"
done

say "The rounds; how long they take is up to this machine and what else it does"
while [ "${#process[@]}" -gt 0 ]; do
  code=0
  wait -n -p ended "${process[@]}" || code=$?
  for name in "${!process[@]}"; do
    [ "${process[$name]}" = "$ended" ] || continue
    [ "$code" = 0 ] || last_words "$name"
    unset "process[$name]"
  done
done
trap - EXIT

say "What the server can say"
secure-sapefl server status --state server
for site in "${sites[@]}"; do
  say "What $site can say"
  secure-sapefl site status --home "$site"
  secure-sapefl site ledger --home "$site" --verify
done
