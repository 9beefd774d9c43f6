#!/bin/sh
# POSTGRES_USER, POSTGRES_DB (gapless both), POSTGRES_PASSWORD: the superuser and the database that are made.
set -eu

: "${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD}"
user=${POSTGRES_USER:-gapless}
cluster=/var/lib/postgres/cluster
bin=/opt/postgres/bin

if [ ! -e "$cluster/PG_VERSION" ]; then
  umask 077
  printf '%s\n' "$POSTGRES_PASSWORD" > /tmp/password
  "$bin/initdb" -D "$cluster" -U "$user" --pwfile /tmp/password -A scram-sha-256 -E UTF8 --locale C --no-sync
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$cluster/pg_hba.conf"
  printf 'CREATE DATABASE "%s";\n' "${POSTGRES_DB:-gapless}" | "$bin/postgres" --single -D "$cluster" postgres
fi
exec "$bin/postgres" -D "$cluster" -c "listen_addresses=*" -c unix_socket_directories= -c max_connections=200 \
  -c fsync=off -c full_page_writes=off -c synchronous_commit=off -c jit=off -c timezone=UTC
