#!/usr/bin/env bash
# A whole study on one machine, with real processes, TLS and mock data: three hospitals and a coordinator.
# Every step is a command a person would type; in a real study they are typed on four machines.
#
#   examples/deployment/loopback.sh FOLDER [PORT]
#
# Needs `secure-sapefl` (with the extra "deploy") on the PATH. FOLDER must not exist yet.
set -euo pipefail

folder=${1:?"name a folder that does not exist yet"}
port=${2:-9092}
sites=(north east south)
umask 077
mkdir "$folder" && cd "$folder"

say() { printf '\n== %s\n' "$*"; }

say "Everybody makes their own key; the public halves go to the coordinator and the custodian"
secure-sapefl keys site --name coordinator --out coordinator.key
for site in "${sites[@]}"; do
  secure-sapefl keys site --name "$site" --out "$site.key"
done

say "The custodian makes the cohort key and seals a copy for each site"
secure-sapefl keys cohort --study trial --out sealed --for north.pub --for east.pub --for south.pub | tee cohort.txt
fingerprint=$(sed -n 's/^Cohort key fingerprint: //p' cohort.txt)

say "The coordinator writes and signs the study, with mock data to try it on"
secure-sapefl study new --name trial --purpose "A trial on mock data" --coordinator coordinator.key \
  --site north.pub --site east.pub --site south.pub \
  --feature 'age:0..120' --feature 'pressure:60..250' --feature 'sex:f|m' --label outcome --class no --class yes \
  --rounds 3 --local-epochs 2 --largest-site 100 --min-cohort 3 --round-deadline 120 \
  --epsilon 4 --delta 1e-5 --mock mock

say "TLS: an authority of our own, and the server's certificate"
secure-sapefl server certificates --out tls --host 127.0.0.1
mkdir nodes

say "Each site's owner makes the site's folder, reviews the study, and approves it"
for site in "${sites[@]}"; do
  secure-sapefl site init --home "$site" --identity "$site.key" --data "mock/mock-$site.csv" \
    --sealed "sealed/$site.sealed" --fingerprint "$fingerprint"
  secure-sapefl site review study.toml --home "$site" > "$site.review.txt"
  secure-sapefl site approve study.toml --home "$site"
done

say "The server starts; then the sites"
secure-sapefl server start --study study.toml --key coordinator.key --state server \
  --listen "127.0.0.1:$port" --tls tls --node-keys nodes > server.txt 2>&1 &
processes=($!)
trap 'kill "${processes[@]}" 2> /dev/null || true' EXIT
for site in "${sites[@]}"; do
  secure-sapefl site start --study study.toml --home "$site" --server "127.0.0.1:$port" --ca tls/ca.pem \
    > "$site.txt" 2>&1 &
  processes+=($!)
done

say "Each relay's public key goes to the coordinator, who admits it"
for site in "${sites[@]}"; do
  until [ -f "$site.run/node.key.pub" ]; do sleep 0.2; done
  cp "$site.run/node.key.pub" "nodes/$site.pub"
done

say "Three rounds; this takes about a minute"
wait "${processes[@]}"
trap - EXIT

say "What the server can say"
secure-sapefl server status --state server
for site in "${sites[@]}"; do
  say "What $site can say"
  secure-sapefl site status --home "$site"
  secure-sapefl site ledger --home "$site" --verify
done
