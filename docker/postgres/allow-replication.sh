#!/bin/bash
# Run by the public image when it has made its cluster: replicas may connect, with the password.
echo 'host replication all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
