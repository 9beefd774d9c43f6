#!/bin/sh
# Makes the cluster if there is none, then runs `postgres` with the arguments that are given.
set -eu

user=${POSTGRES_USER:-postgres}
cluster=${PGDATA:-/var/lib/postgresql/18/docker}
bin=/opt/postgres/bin

if [ ! -e "$cluster/PG_VERSION" ]; then
  password=${POSTGRES_PASSWORD:-}
  [ -z "${POSTGRES_PASSWORD_FILE:-}" ] || password=$(cat "$POSTGRES_PASSWORD_FILE")
  : "${password:?set POSTGRES_PASSWORD or POSTGRES_PASSWORD_FILE}"
  # Under another name until it is whole.
  draft=$cluster.draft
  umask 077
  rm -rf "$draft"
  mkdir -p "$draft"
  file=$(mktemp)
  printf '%s\n' "$password" > "$file"
  "$bin/initdb" -D "$draft" -U "$user" --pwfile "$file" -A scram-sha-256 -E UTF8 --locale C
  rm "$file"
  echo 'host all all all scram-sha-256' >> "$draft/pg_hba.conf"
  printf 'CREATE DATABASE "%s";\n' "${POSTGRES_DB:-$user}" | "$bin/postgres" --single -D "$draft" postgres
  mv "$draft" "$cluster"
fi

case "${1:-}" in
  postgres) shift ;;
esac
exec "$bin/postgres" -D "$cluster" -c 'listen_addresses=*' -c unix_socket_directories= "$@"
