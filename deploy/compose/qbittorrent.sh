#!/bin/sh
# Runs at each start, before qBittorrent does. The image has python3.
python3 - /config/qBittorrent/qBittorrent.conf /run/secrets/qbittorrent_password <<'PYTHON'
import base64, hashlib, os, sys

path, secret = sys.argv[1:]
password = open(secret, "rb").read().strip()
if not password:
    print("STAGECOACH_QBITTORRENT_PASSWORD is empty: nobody can log in. See .env.example")
    password = os.urandom(32)
salt = os.urandom(16)
key = hashlib.pbkdf2_hmac("sha512", password, salt, 100000, 64)
ours = {
    "WebUI\\Username": os.environ["QBITTORRENT_USERNAME"],
    "WebUI\\Password_PBKDF2": '"@ByteArray(%s:%s)"' % tuple(base64.b64encode(part).decode() for part in (salt, key)),
    "WebUI\\LocalHostAuth": "true",
}
replaced = [*ours, "WebUI\\AuthSubnetWhitelistEnabled", "WebUI\\AuthSubnetWhitelist"]
lines = [line for line in open(path).read().splitlines() if line.split("=")[0] not in replaced]
if "[Preferences]" not in lines:
    lines.append("[Preferences]")
at = lines.index("[Preferences]") + 1
lines[at:at] = ["%s=%s" % setting for setting in ours.items()]
with open(path, "w") as file:
    file.write("\n".join(lines) + "\n")
PYTHON
