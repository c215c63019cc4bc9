#!/bin/sh
# Remove secure-sapefl from a machine: units, program, relay account. Folders of sites and servers are left and named.
#   sh uninstall.sh FOLDER      where it was installed, for instance /opt/secure-sapefl
set -eu
folder=${1:?"name the folder it was installed into, for instance /opt/secure-sapefl"}
root=${DESTDIR:-}
[ -x "$folder/bin/secure-sapefl" ] || { echo "$folder holds no secure-sapefl; nothing was removed." >&2; exit 2; }

for unit in secure-sapefl-site.service secure-sapefl-server.service; do
  [ -e "$root/etc/systemd/system/$unit" ] || continue
  systemctl disable --now "$unit"
  rm -f "$root/etc/systemd/system/$unit"
  systemctl daemon-reload
  echo "Removed: $root/etc/systemd/system/$unit"
done
rm -rf "$folder" "$root/var/lib/secure-sapefl-relay"
echo "Removed: $folder"
if id sapefl-relay > /dev/null 2>&1; then
  userdel sapefl-relay && echo "Removed: the account sapefl-relay"
fi
for kept in "$root/var/lib/secure-sapefl" "$root/etc/secure-sapefl"; do
  [ ! -e "$kept" ] || echo "Left for you to decide: $kept (keys, ledgers, state, passphrases)"
done
