#!/usr/bin/env bash
# Follows the Containerfile on a clean Debian, without a container engine: examples/deploy/debian.sh FOLDER
# FOLDER becomes what the image would hold. Needs root, debootstrap and git. BIND="/a /b" mounts folders of this machine
# in it while it is built, for a pip that is set up to look there. What is committed is installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?"usage: examples/deploy/debian.sh FOLDER"}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
mounted=()

unmount() {
  for place in "${mounted[@]}"; do umount --lazy "$place"; done
}
trap unmount EXIT

run() { # in the folder, with pip's and the certificates' settings of this machine
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root $(env | grep -E '^(PIP_|SSL_|[a-z]+_proxy=)' || true) \
    chroot "$folder" /bin/sh -c "cd '${workdir:-/}' && $1"
}

while read -r instruction rest; do
  case "$instruction" in
    FROM)
      release=${rest#debian:}
      debootstrap --variant=minbase --include=ca-certificates "${release%-slim}" "$folder"
      cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
      for place in /proc ${BIND:-}; do
        # What is installed would land in the mounted folder.
        [[ /opt/craftscope/ != "$place"/* ]] || { echo "BIND may not hold $place; name folders in it" >&2; exit 2; }
        mkdir -p "$folder$place"
        mount --rbind "$place" "$folder$place"
        mounted+=("$folder$place")
      done ;;
    RUN) run "$rest" ;;
    WORKDIR) workdir=$rest; mkdir -p "$folder$workdir" ;;
    COPY) git -C "$here/../.." archive HEAD | tar --extract --directory "$folder$workdir" ;;
    ENV | USER | ENTRYPOINT | CMD) ;; # for those who start it
    "" | "#"*) ;;
    *) echo "debian.sh does not know $instruction" >&2; exit 2 ;;
  esac
done <"$here/Containerfile"
