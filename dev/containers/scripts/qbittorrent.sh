#!/bin/bash
# Does what linuxserver.io's image does with the variables and folders that docker-compose.yml gives it.
set -euo pipefail

groupmod -o -g "${PGID:-911}" users >/dev/null
id abc >/dev/null 2>&1 || useradd -o -u "${PUID:-911}" -g users -d /config -s /bin/false abc
install -d -o abc -g users /config/qBittorrent /downloads
if [ ! -e /config/qBittorrent/qBittorrent.conf ]; then
	printf '[LegalNotice]\nAccepted=true\n[Preferences]\nDownloads\\SavePath=/downloads/\n[BitTorrent]\nSession\\DefaultSavePath=/downloads/\n' \
		>/config/qBittorrent/qBittorrent.conf
fi
for file in /custom-cont-init.d/*; do
	# Like the real one, which continues if a file fails.
	if [ -f "$file" ]; then bash "$file" || echo "$file exited $?"; fi
done
chown -R abc:users /config
exec setpriv --reuid abc --regid users --clear-groups qbittorrent-nox --webui-port="${WEBUI_PORT:-8080}"
