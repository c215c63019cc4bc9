#!/bin/sh
# Install secure-sapefl from this folder, without a network.
#   sh install.sh FOLDER        for instance /opt/secure-sapefl; it must not exist yet. PYTHON names another interpreter.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?"name the folder to install into, for instance /opt/secure-sapefl"}
[ ! -e "$folder" ] || { echo "$folder is there already. Remove it first, or name another folder." >&2; exit 2; }

(cd "$here" && sha256sum --check --quiet SHA256SUMS) || { echo "A file was damaged or changed on the way. Carry the folder over again." >&2; exit 2; }
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip --isolated install --quiet --disable-pip-version-check --no-index --find-links "$here" \
  --constraint "$here/constraints.txt" 'secure-sapefl[deploy,images,tables]' || { rm -rf "$folder"; exit 2; }
echo "$("$folder/bin/secure-sapefl" --version): $folder/bin/secure-sapefl"
