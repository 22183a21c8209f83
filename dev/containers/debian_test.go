package containers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
)

// machine is a container whose first process is systemd.
type machine struct {
	testing.TB
	id string
}

// newMachine skips the test if no engine is running. The mounts are what systemd needs beyond an ordinary container.
func newMachine(t testing.TB) *machine {
	t.Helper()
	if err := exec.Command("docker", "image", "inspect", "stagecoach-standin/machine").Run(); err != nil {
		t.Skip("there is no engine with a stand-in for a machine: make night-release")
	}

	out, err := exec.Command(
		"docker", "run", "--detach", "--cap-add", "SYS_ADMIN", "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined",
		"--cgroupns", "host", "--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw", "--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp",
		"stagecoach-standin/machine",
	).Output()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t, strings.TrimSpace(string(out))}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := m.try("journalctl --no-pager --unit 'stagecoach*' | tail -n 40")
			t.Logf("%s", log)
		}
		if out, err := exec.Command("docker", "rm", "--force", "--volumes", m.id).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	m.until("systemctl is-active postgresql")
	return m
}

// try runs a script as root, and returns its output.
func (m *machine) try(script string) (string, error) {
	command := exec.Command("docker", "exec", "--workdir", "/root", m.id, "sh", "-euc", script)
	errs := &strings.Builder{}
	command.Stderr = errs
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", script, err, out, errs)
	}
	return strings.TrimSpace(string(out)), err
}

func (m *machine) run(script string) string {
	m.Helper()
	out, err := m.try(script)
	if err != nil {
		m.Fatal(err)
	}
	return out
}

// until repeats a script until it succeeds.
func (m *machine) until(script string) string {
	m.Helper()
	var out string
	var err error
	for range 120 {
		if out, err = m.try(script); err == nil {
			return out
		}
		time.Sleep(time.Second)
	}
	m.Fatal(err)
	return ""
}

// copy copies a file from this machine into the container.
func (m *machine) copy(from, to string) {
	m.Helper()
	if out, err := exec.Command("docker", "cp", from, m.id+":"+to).CombinedOutput(); err != nil {
		m.Fatalf("%v: %s", err, out)
	}
}

// packages builds the package for this architecture in two versions, as .goreleaser.yaml says.
func packages(t *testing.T, dir string) (older, newer string) {
	t.Helper()
	tools, _ := filepath.Glob("../../bin/tools/goreleaser-*/goreleaser")
	if len(tools) == 0 {
		t.Skip("there is no goreleaser: make night-release")
	}
	goreleaser, err := filepath.Abs(tools[len(tools)-1])
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "goreleaser.yaml")
	here := strings.NewReplacer("bin/release", dir+"/release", "[linux, darwin]", "[linux]", "[amd64, arm64]", "["+runtime.GOARCH+"]")
	if err := os.WriteFile(config, []byte(here.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}

	var made []string
	for _, version := range []string{"0.0.1", "0.0.2"} {
		command := exec.CommandContext(
			t.Context(), goreleaser, "release", "--snapshot", "--clean", "--config", config, "--skip=archive,docker,sbom",
		)
		command.Dir, command.Env = "../..", append(os.Environ(), "SNAPSHOT="+version)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("goreleaser: %v\n%s", err, out)
		}
		name := fmt.Sprintf("stagecoach_%s_%s.deb", version, runtime.GOARCH)
		made = append(made, filepath.Join(dir, name))
		if err := os.Rename(filepath.Join(dir, "release", name), made[len(made)-1]); err != nil {
			t.Fatal(err)
		}
	}
	return made[0], made[1]
}

// prepare starts what an operator already has, and simulators of Telegram and Yandex.
const prepare = `mkdir -p /srv/yandex
systemd-run --quiet --unit standin-telegram dev standin telegram --dir /srv/telegram
systemd-run --quiet --unit standin-yandex dev standin yandex --dir /srv/yandex --state-file /srv/yandex.json
systemd-run --quiet --unit temporal temporal server start-dev --headless --db-filename /srv/temporal.db \
	--dynamic-config-value matching.enableFairness=true --dynamic-config-value matching.useNewMatcher=true`

// configure does what docs/install.md says, with the addresses of the simulators.
const configure = `runuser -u postgres -- createuser stagecoach
runuser -u postgres -- createdb --owner stagecoach stagecoach
cd /etc/stagecoach/secrets
umask 077
head -c 32 /dev/urandom | base64 >STAGECOACH_ENCRYPTION_KEY
echo sc_the-administrator-of-this-night-alone >STAGECOACH_ADMIN_TOKEN
echo 1000000:only-for-the-stand-in-and-its-tests >STAGECOACH_TELEGRAM_TOKEN
echo stand-in >STAGECOACH_YANDEX_CLIENT_SECRET
echo stand-in-refresh >STAGECOACH_YANDEX_REFRESH_TOKEN
cat >>/etc/stagecoach/stagecoach.env <<end
STAGECOACH_TELEGRAM_API_URL=http://127.0.0.1:8081
STAGECOACH_DELIVERY_MAX_FILE_SIZE=2097152000
STAGECOACH_YANDEX_API_URL=http://127.0.0.1:8082
STAGECOACH_YANDEX_TOKEN_URL=http://127.0.0.1:8082/token
STAGECOACH_YANDEX_CLIENT_ID=stand-in
STAGECOACH_LISTING_TTL=1s
STAGECOACH_TONCENTER_URL=https://127.0.0.1:1
end
systemctl enable --now stagecoach`

// pay configures the second service. Nothing is bought: its chain does not answer.
const pay = `runuser -u postgres -- createuser stagecoach-payments
cd /etc/stagecoach/secrets
umask 077
head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >STAGECOACH_TON_KEY
echo 'stel_ssid=a; stel_dt=0; stel_token=b; stel_ton_token=c' >STAGECOACH_FRAGMENT_COOKIES
sed -i s/^STAGECOACH_TX_ALLOW=.*/STAGECOACH_TX_ALLOW=UQBe6n8T8EF_HGEMUefMRBoTHzvTNRMFJRljgBk1_ibh3Nlt/ /etc/stagecoach/payments.env
systemctl enable --now stagecoach-payments`

// deliver requests a file as a user with a chat, once the service answers.
const deliver = `export STAGECOACH_API_URL=http://127.0.0.1:8080
if [ ! -s user ]; then
	STAGECOACH_TOKEN=$(cat /etc/stagecoach/secrets/STAGECOACH_ADMIN_TOKEN) starter user add Night --telegram-id 2002 --json >user
	wget -qO- --header 'Content-Type: application/json' --post-data '{"text":"/start"}' http://127.0.0.1:8081/_/users/2002/messages
fi
export STAGECOACH_TOKEN=$(sed -n 's/.*"token": *"\([^"]*\)".*/\1/p' user)
starter `

const (
	restart = "systemctl show --property MainPID --value stagecoach stagecoach-payments"
	chat    = "wget -qO- http://127.0.0.1:8081/_/chats/2002"
	files   = "find /etc /usr /var/lib -xdev -not -path '/var/lib/dpkg/*' -not -path '/var/lib/postgresql/*' -not -path '/var/lib/systemd/*' -not -path '/var/lib/apt/*' " +
		"-not -name '*-' -not -name .pwd.lock | sort; cut -d: -f1 /etc/passwd /etc/group | sort"
)

// TestDebianPackage installs the package on a Debian with systemd, delivers, upgrades during a delivery, restores a
// backup, and purges the package.
func TestDebianPackage(t *testing.T) {
	night.Only(t)
	dir := t.TempDir()
	m := newMachine(t)
	older, newer := packages(t, dir)
	build := exec.CommandContext(t.Context(), "go", "build", "-tags=stdjson", "-ldflags=-s -w", "-o", dir, "stagecoach/dev")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for from, to := range map[string]string{filepath.Join(dir, "dev"): "/usr/local/bin/", older: "/root/older.deb", newer: "/root/newer.deb"} {
		m.copy(from, to)
	}
	m.run(prepare)
	before := m.run(files)

	m.run("apt-get install -qq ./older.deb")
	if out, err := m.try("systemctl is-enabled stagecoach stagecoach-payments"); err == nil {
		t.Errorf("a service is enabled before it has settings: %s", out)
	}
	if out := m.run("starter version; /usr/lib/stagecoach/worker version; stagecoach version"); strings.Count(out, "Stagecoach 0.0.1, commit ") != 3 {
		t.Errorf("the programs are %s", out)
	}
	m.run(configure)
	m.until("wget -qO- http://127.0.0.1:8080/ready")
	m.run("head -c 3000000 /dev/urandom >/srv/yandex/first.bin; sleep 2")
	m.run(deliver + "deliver /first.bin")
	m.run(pay)

	t.Run("secrets", func(t *testing.T) { wantOwnSecrets(&machine{t, m.id}) })
	if out, _ := m.try("stagecoach-run starter doctor worker"); strings.Count(out, " works ") < 3 {
		t.Errorf("the doctor says\n%s", out)
	}

	// While a gigabyte is in transit.
	m.run("truncate -s 1G /srv/yandex/second.bin; sleep 2")
	was := m.run(restart)
	m.run(deliver + "deliver /second.bin --no-wait")
	m.run("apt-get install -qq ./newer.deb")
	if is := m.run(restart); is == was || strings.Contains(is, "0\n") {
		t.Errorf("the processes were %q and are %q", was, is)
	}
	m.until("wget -qO- http://127.0.0.1:8080/ready")
	if out := m.run("starter version --json"); !strings.Contains(out, `"version":"0.0.2"`) {
		t.Errorf("after the upgrade: %s", out)
	}
	m.until(deliver + `deliver list --json | grep -o '"DELIVERED"' | wc -l | grep -x 2`)
	for _, file := range []string{"first.bin", "second.bin"} {
		if times := strings.Count(m.run(chat), `"`+file+`"`); times != 1 {
			t.Errorf("%s is in the chat %d times", file, times)
		}
	}
	m.run("grep -q ^STAGECOACH_LISTING_TTL /etc/stagecoach/stagecoach.env")

	t.Run("backup", func(t *testing.T) { backUpByTimer(&machine{t, m.id}) })
	t.Run("restore", func(t *testing.T) { restoreBackup(&machine{t, m.id}) })

	const key = "/etc/stagecoach/secrets/STAGECOACH_TON_KEY"
	if out := m.run("cat " + key + " && apt-get purge -qq stagecoach 2>&1 && cat " + key); !strings.Contains(out, "the wallet's key stays in "+key) {
		t.Errorf("the purge says %s", out)
	}
	if left := m.run("find /etc/stagecoach -type f"); strings.TrimSpace(left) != key {
		t.Errorf("of the settings the purge has left %s", left)
	}
	m.run("rm -r /etc/stagecoach; rm /var/lib/stagecoach-backup/stagecoach-*.age; rmdir /var/lib/stagecoach-backup") // backups stay
	if after := m.run(files); after != before {
		t.Errorf("the purge has left\n%s", difference(before, after))
	}
}

// wantOwnSecrets checks what each service has been given: the public one does not have the wallet's key, and the other
// one does not have the bot's token.
func wantOwnSecrets(m *machine) {
	for unit, want := range map[string]string{"stagecoach": "STAGECOACH_TELEGRAM_TOKEN", "stagecoach-payments": "STAGECOACH_TON_KEY"} {
		held := strings.Fields(m.run("ls /run/credentials/" + unit + ".service"))
		for _, secret := range []string{"STAGECOACH_TELEGRAM_TOKEN", "STAGECOACH_TON_KEY"} {
			if has := strings.Contains(" "+strings.Join(held, " ")+" ", " "+secret+" "); has != (secret == want) {
				m.Errorf("%s has %s: %t", unit, secret, has)
			}
		}
		if out, err := m.try("runuser -u " + unit + " -- ls /etc/stagecoach/secrets"); err == nil {
			m.Errorf("%s reads %s", unit, out)
		}
	}
}

// restoreBackup loses the database and restores it, as docs/backup.md says.
func restoreBackup(m *machine) {
	m.run(`starter backup-key backup.key >backup.pub
stagecoach-run starter backup - --to "$(cat backup.pub)" >stagecoach.age
systemctl stop stagecoach stagecoach-payments
runuser -u postgres -- psql -qc 'ALTER DATABASE stagecoach RENAME TO lost'
runuser -u postgres -- createdb --owner stagecoach stagecoach
install -o stagecoach -m 400 stagecoach.age backup.key /var/lib/stagecoach
stagecoach-run starter restore /var/lib/stagecoach/stagecoach.age --identity /var/lib/stagecoach/backup.key
rm /var/lib/stagecoach/stagecoach.age /var/lib/stagecoach/backup.key
stagecoach-run starter restored
systemctl start stagecoach stagecoach-payments`)
	m.until("wget -qO- http://127.0.0.1:8080/ready")
	if out := m.run(deliver + "deliver list --json"); strings.Count(out, "DELIVERED") < 2 {
		m.Errorf("after the restore there are %s", out)
	}
}

// backUpByTimer makes the nightly backup now.
func backUpByTimer(m *machine) {
	m.run(`starter backup-key night.key >/etc/stagecoach/backup.pub
systemctl enable --now stagecoach-backup.timer
systemctl start stagecoach-backup`)
	if out := m.run("systemctl list-timers stagecoach-backup.timer; ls -l /var/lib/stagecoach-backup"); !strings.Contains(out, "stagecoach-backup.service") || !strings.Contains(out, "-rw------- 1 stagecoach") {
		m.Errorf("the timer has made %s", out)
	}
	m.run(`export STAGECOACH_API_URL=http://127.0.0.1:8080
STAGECOACH_TOKEN=$(cat /etc/stagecoach/secrets/STAGECOACH_ADMIN_TOKEN) starter status | grep '^backup '`)
}

// difference lists lines that are only in one of the texts.
func difference(before, after string) string {
	var lines []string
	for _, pair := range [][2]string{{before, after}, {after, before}} {
		for line := range strings.Lines(pair[1] + "\n") {
			if !strings.Contains("\n"+pair[0]+"\n", "\n"+strings.TrimSpace(line)+"\n") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return strings.Join(lines, "\n")
}
