#!/bin/sh
# Runs one entity of each workload against the simulators, with a user's and an administrator's commands.
# Needs: starter, wget; STAGECOACH_API_URL, TELEGRAM, TONCENTER (addresses), STANDINS (their folder), the administrator's token.
set -eu

admin_token=$(cat "${ADMIN_TOKEN_FILE:-/run/secrets/admin_token}")
post() { wget -q -O - --header 'Content-Type: application/json' --post-data "$2" "$1"; }
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p"; }
admin() { STAGECOACH_TOKEN=$admin_token starter "$@"; }

if [ ! -s "$STANDINS/user_token" ]; then
	admin user add 'Demo user' --telegram-id 1001 --json | field token >"$STANDINS/user_token"
fi
STAGECOACH_TOKEN=$(cat "$STANDINS/user_token")
export STAGECOACH_TOKEN
post "$TELEGRAM/_/users/1001/messages" '{"text":"/start"}' >/dev/null # without it there is no chat to deliver to

echo '== a delivery'
file=demo-$(date +%s).bin
head -c 8000000 /dev/urandom >"$STANDINS/yandex/$file"
starter deliver "/$file"

echo '== a task'
workspace=$(starter workspace create Demo --json | field id)
task=$(starter task create 'Draw the plan' --workspace "$workspace" --json | field id)
starter task claim "$task" 'I draw it'
starter task status "$task" DONE 'drawn'

echo '== a download'
book=$(starter book add 'Noise, a demonstration' --json | field id)
hash=$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')
starter download "$book" "magnet:?xt=urn:btih:$hash" --wait

echo '== a purchase of Stars'
deposit=$(post "$TONCENTER/_/deposits" '{"amount_nano":600000000,"comment":"demo_reader 50"}' | field hash)
[ -n "$deposit" ]
for _ in $(seq 60); do
	status=$(admin tx show "$deposit" --json 2>/dev/null | field status)
	case $status in processed | failed) break ;; esac
	sleep 1
done
admin tx show "$deposit"
[ "$status" = processed ]
echo '== all four ended as expected'
