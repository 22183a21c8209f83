#!/bin/sh
# backup.sh temporal|record: writes a backup to /backups at an hour (UTC) of each day, and at once if the last one is older than
# half a day. A failed backup is retried every ten minutes. After a success, files older than two weeks are deleted.
set -u

case $1 in
temporal)
  hour=2 last='temporal-*.dump' files='temporal*.dump'
  back_up() {
    for db in temporal_visibility temporal ; do
      PGPASSWORD=$(cat /run/secrets/postgres_password) pg_dump -h postgres -U temporal -Fc -f "/backups/.$db" "$db" &&
        mv "/backups/.$db" "/backups/$db-$(date -u +%F).dump" || return 1
    done
  } ;;
record)
  hour=3 last='stagecoach-*.age' files='stagecoach-*.age'
  back_up() { starter backup "/backups/stagecoach-$(date -u +%F).age" --to "$BACKUP_TO" ; } ;;
esac

umask 077
while : ; do
  if [ -z "$(find /backups -name "$last" -mmin -720)" ] ; then
    until back_up ; do
      echo "the backup of $1 has failed, and is tried again in ten minutes" >&2
      sleep 600
    done
    find /backups -name "$files" -mtime +14 -delete
  fi
  sleep $(( (hour * 3600 + 86400 - $(date +%s) % 86400) % 86400 + 1 ))
done
