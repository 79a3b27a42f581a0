#!/bin/sh
# Starts one part of Craftscope on all addresses: start.sh dashboard|service [options of that part]
# PUBLIC_NAME is the host name in people's address bar; other names are refused.
set -eu
cd "$(dirname "$0")/../.."
: "${PUBLIC_NAME:?Set PUBLIC_NAME to the host name under which people open it, such as craftscope.example.org}"
part=${1:-dashboard}
shift || true
case "$part" in
  dashboard)
    exec .venv/bin/streamlit run app.py --server.address 0.0.0.0 --server.allowedHosts "$PUBLIC_NAME" "$@" ;;
  service)
    export CRAFTSCOPE_SERVICE_HOSTS="$PUBLIC_NAME"
    exec .venv/bin/python -m core.service serve --host 0.0.0.0 "$@" ;;
  *)
    echo "start.sh starts dashboard or service, not $part" >&2
    exit 2 ;;
esac
