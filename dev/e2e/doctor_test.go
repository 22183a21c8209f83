package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/lifecycle"
)

// practice is a complete service as in the compose file: a worker without the wallet's key, one for payments only, and
// an API with the bot.
type practice struct {
	*paymentRig
	torrents *standIn
	key      string
	compose  string // a folder with a program `docker`, which runs commands with the settings of a process
}

func newPractice(t *testing.T) *practice {
	t.Helper()
	server := startTemporal(t, `system.namespaceCacheRefreshInterval="200ms"`)
	p := &practice{paymentRig: newPaymentRig(t, server, "practice"), torrents: newStandIn(t), compose: t.TempDir()}
	must(t, buildStarter())
	p.write("docker", 0o700, "#!/bin/sh\nshift 3\nservice=$1\nshift\n. \"$(dirname \"$0\")/$service.env\"\nexec \"$@\"\n")
	p.key = p.env["STAGECOACH_TON_KEY"]
	url, user, password := p.torrents.login()
	p.set("STAGECOACH_BOT", "true")
	p.set("STAGECOACH_QBITTORRENT_URL", url)
	p.set("STAGECOACH_QBITTORRENT_USERNAME", user)
	p.set("STAGECOACH_QBITTORRENT_PASSWORD", password)

	p.file("a-file.bin", 1<<20)
	p.set("STAGECOACH_WORKER_QUEUES", "payments,refunds,wallet")
	p.start("worker")
	p.keep("payments")
	p.set("STAGECOACH_TON_KEY", "")
	p.set("STAGECOACH_WORKER_QUEUES", "stagecoach,delivery,torrents,webhooks")
	p.startWorker()
	p.keep("worker")
	p.startAPI()
	p.keep("api")
	return p
}

func (p *practice) set(name, value string) { p.env[name] = value }

func (p *practice) write(name string, mode os.FileMode, text string) {
	p.Helper()
	must(p, os.WriteFile(filepath.Join(p.compose, name), []byte(text), mode))
}

// keep records the current settings as those of a service of the compose file.
func (p *practice) keep(service string) {
	p.Helper()
	var text strings.Builder
	for name, value := range p.env {
		fmt.Fprintf(&text, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	p.write(service+".env", 0o600, text.String())
}

// shell runs an administrator's command line, and returns its exit code and its output.
func (p *practice) shell(command string, env ...string) (code int, out string) {
	p.Helper()
	shell := exec.CommandContext(p.Context(), "sh", "-c", command)
	shell.Dir = p.TempDir()
	shell.Env = append(env,
		"PATH="+strings.Join([]string{p.compose, programs, os.Getenv("PATH")}, string(os.PathListSeparator)),
		"STAGECOACH_API_URL="+p.apiURL, "STAGECOACH_TOKEN="+adminToken)

	text, err := shell.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		p.Fatal(err)
	}
	return shell.ProcessState.ExitCode(), string(text)
}

// examine runs a program's doctor with the settings of a service.
func (p *practice) examine(service, program string) (code int, out string) {
	p.Helper()
	code, out = p.shell("docker compose exec -T " + service + " starter doctor " + program)
	for _, secret := range []string{botToken, clientSecret, refreshToken, adminToken, qbittorrentPassword, p.key, "Planted"} {
		if strings.Contains(out, secret) {
			p.Errorf("the doctor shows a secret:\n%s", out)
		}
	}
	return code, out
}

// wants examines a service, and compares the exit code and the lines.
func (p *practice) wants(what, service, program string, code int, lines ...string) {
	p.Helper()
	got, out := p.examine(service, program)
	missing := slices.DeleteFunc(lines, func(line string) bool { return regexp.MustCompile(`(?m)^` + line).MatchString(out) })
	if got != code || len(missing) > 0 {
		p.Errorf("%s: exit code %d, want %d; %q are missing in\n%s", what, got, code, missing, out)
	}
}

// calls counts requests to the simulators: uses of the refresh token, and steps of purchases.
func (p *practice) calls() (renewals, purchases int) {
	for _, r := range p.yandex.Requests() {
		if r.Path == "/token" {
			renewals++
		}
	}

	for _, r := range p.fragment.Requests() {
		if slices.Contains([]string{"initBuyStarsRequest", "getBuyStarsLink", "confirmReq"}, r.Call) {
			purchases++
		}
	}
	return renewals, purchases
}

// TestLongDoctor causes one fault after the other for a running service. The doctor reports each, and has no side
// effects.
func TestLongDoctor(t *testing.T) {
	night.Only(t)
	t.Parallel()
	p := newPractice(t)
	api := func(what string, code int, lines ...string) { t.Helper(); p.wants(what, "api", "api", code, lines...) }
	worker := func(what string, code int, lines ...string) {
		t.Helper()
		p.wants(what, "worker", "worker", code, lines...)
	}
	payments := func(what string, code int, lines ...string) {
		t.Helper()
		p.wants(what, "payments", "worker", code, lines...)
	}

	api("before its first use", 1, `yandex\s+unverified\s`, `next: yandex: list the folder with .starter files.`)
	worker("before its first use", 1, `yandex\s+unverified\s`)
	if renewals, _ := p.calls(); renewals != 0 {
		t.Fatalf("a check has used the refresh token %d times", renewals)
	}
	if code, out := p.shell("starter files"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}

	wallet := regexp.QuoteMeta(p.wallet.Address().Friendly(false))
	well := func(what string) {
		t.Helper()
		ground := []string{`postgresql\s+works\s+\S+ in \S+\s+PostgreSQL \d+\.\d+, schema \d+`, `temporal\s+works\s+namespace practice\s+Temporal 1\.`}
		bot := `telegram\s+works\s+@stagecoach_stand_in_bot \(7000000001\)\s+a Bot API server of its own: files up to 2000 MB`
		disk := `yandex\s+works\s+account \d+\s+disk:/, the token is renewed by itself`
		api(what, 0, append(ground, bot, disk, `toncenter\s+works`)...)
		worker(what, 0, append(ground, bot, disk, `qbittorrent\s+works\s+logged in\s+qBittorrent v4\.5\.2`)...)
		payments(what, 0, append(ground,
			`toncenter\s+works\s+without a key\s+block \d+`, `wallet\s+works\s+`+wallet+`\s+\S+ GRAM, V5R1`,
			`fragment\s+works\s+`+wallet+`\s+the session is connected to the wallet`)...)
	}

	well("all is well")

	p.worker.stop() // whoever uses the storage renews the token
	p.api.stop()
	renewed, _ := p.calls()
	p.yandex.ExpireAccessTokens()
	worker("the storage refuses the access token", 1, `yandex\s+unverified\s+the access token is refused`)
	if again, _ := p.calls(); again != renewed {
		t.Errorf("a check of a refused token has used the refresh token")
	}
	p.startWorker()
	p.startAPI()
	if code, out := p.shell("starter files"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}

	settings := p.fragment.CurrentSettings()
	settings.SessionFailed = "Session expired"
	must(t, p.fragment.Set(settings))
	payments("the session at Fragment has ended", 1,
		`fragment\s+refused\s+FRAGMENT_UNAUTHORIZED`, `next: fragment: FRAGMENT_UNAUTHORIZED log in at Fragment`)
	settings.SessionFailed = ""
	must(t, p.fragment.Set(settings))

	p.chain.AddFault(sim.Fault{Kind: "lost_answer"})
	payments("toncenter is dead", 1, `toncenter\s+unreachable\s+CHAIN_UNAVAILABLE`, `wallet\s+unreachable\s+`+wallet)
	api("toncenter is dead", 1, `toncenter\s+unreachable`)
	p.chain.ClearFaults()

	well("all is well again")
	if _, purchases := p.calls(); purchases != 0 {
		t.Errorf("the checks have taken %d steps of a purchase", purchases)
	}

	p.set("STAGECOACH_TELEGRAM_TOKEN", strings.Replace(botToken, "planted", "another", 1))
	p.set("STAGECOACH_QBITTORRENT_PASSWORD", "planted-but-wrong-password")
	p.keep("worker")
	worker("the worker has the token and the password of others", 1,
		`telegram\s+refused\s+TELEGRAM_UNAUTHORIZED`, `qbittorrent\s+refused\s+PROVIDER_UNAUTHORIZED`,
		`next: telegram: TELEGRAM_UNAUTHORIZED give the token`)
}

// dayStep matches a command of the first day, and the evidence that it was run.
var dayStep = regexp.MustCompile("```sh\n([^\n]+)\n```\n<!-- (shows|tested|elsewhere): ([^\n]*) -->")

// TestLongFirstDay runs the commands of docs/first-day.md one after the other, except those that need real accounts.
func TestLongFirstDay(t *testing.T) {
	night.Only(t)
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-day.md"))
	must(t, err)
	steps := dayStep.FindAllStringSubmatch(string(text), -1)
	if commands := strings.Count(string(text), "```sh\n"); len(steps) != commands || commands < 15 {
		t.Fatalf("%d commands, %d of them say what shows that they are done", commands, len(steps))
	}

	p := newPractice(t)
	const ada = 777000555
	made := p.seededTorrent()
	_, token := p.apiUser("Planted Person", ada)
	p.becomes(p.deposit("durov 50"), lifecycle.TransactionProcessed)
	values := map[string]string{
		"FILE_NAME": "a-file.bin", "FILE_ID": p.listedFile(token, "a-file.bin"), "USER_TOKEN": token, "TELEGRAM_ID": "777000556",
		"WORKSPACE": "1", "BOOK": "1", "MAGNET": made.Magnet(),
	}

	var env []string
	for name, value := range values {
		env = append(env, name+"="+value)
	}

	for _, s := range steps {
		command, kind := s[1], s[2]
		want := os.Expand(s[3], func(name string) string { return values[name] })
		if kind != "shows" { // TestNamedTests in dev/docs checks the tests
			continue
		}
		if code, out := p.shell(command, env...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s\n  exit code %d; want %q in\n%s", command, code, want, out)
		}
	}
}

// seededTorrent makes a torrent for a request.
func (p *practice) seededTorrent() *torrentsim.SeededTorrent {
	p.Helper()
	ground := newGround(p)
	must(p, ground.StartWebSeed())
	made, err := ground.WebSeed.Add(torrentsim.TorrentSpec{Name: "a-book.epub", Size: 1 << 20})
	must(p, err)
	return made
}
