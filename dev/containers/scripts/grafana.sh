#!/bin/sh
set -eu
test -r "$GF_SECURITY_ADMIN_PASSWORD__FILE"
test -r "$GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"
touch /var/lib/grafana/grafana.db
exec httpd -f -p 3000 -h /www
