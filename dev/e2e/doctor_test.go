package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/lifecycle"
)

// practice is a complete service as in the compose file: a worker without the wallet's key, one for payments alone, and
// an API with the bot.
type practice struct {
	*paymentRig
	torrents *standIn
	key      string
	payments *program
}

func newPractice(t *testing.T) *practice {
	t.Helper()
	server := startTemporal(t, `system.namespaceCacheRefreshInterval="200ms"`)
	p := &practice{paymentRig: newPaymentRig(t, server, "practice"), torrents: newStandIn(t)}
	must(t, buildStarter())
	p.key = p.env["STAGECOACH_TON_KEY"]
	url, user, password := p.torrents.login()
	p.set("STAGECOACH_BOT", "true")
	p.set("STAGECOACH_QBITTORRENT_URL", url)
	p.set("STAGECOACH_QBITTORRENT_USERNAME", user)
	p.set("STAGECOACH_QBITTORRENT_PASSWORD", password)

	p.file("a-file.bin", 1<<20)
	p.set("STAGECOACH_WORKER_QUEUES", "quotes,payments")
	p.payments = p.start("worker")
	p.set("STAGECOACH_TON_KEY", "")
	p.set("STAGECOACH_WORKER_QUEUES", "stagecoach,delivery,torrents,webhooks")
	p.startWorker()
	p.startAPI()
	return p
}

func (p *practice) set(name, value string) { p.env[name] = value }

// replaceWorker starts the worker again with another value of a setting, which the next start does not keep.
func (p *practice) replaceWorker(name, value string) {
	p.Helper()
	before := p.env[name]
	p.worker.stop()
	p.set(name, value)
	p.startWorker()
	p.set(name, before)
}

// shell runs a command line of an administrator, and returns its exit code and its output.
func (p *practice) shell(command string, env ...string) (code int, out string) {
	p.Helper()
	shell := exec.CommandContext(p.Context(), "sh", "-c", command)
	shell.Dir = p.TempDir()
	shell.Env = append(env,
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"),
		"STAGECOACH_API_URL="+p.apiURL, "STAGECOACH_TOKEN="+adminToken)

	text, err := shell.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		p.Fatal(err)
	}
	return shell.ProcessState.ExitCode(), string(text)
}

// examine runs the doctor on all processes.
func (p *practice) examine() (code int, out string) {
	p.Helper()
	code, out = p.shell("starter doctor --wait 2m")
	for _, secret := range []string{botToken, clientSecret, refreshToken, adminToken, qbittorrentPassword, p.key, "Planted"} {
		if strings.Contains(out, secret) {
			p.Errorf("the doctor shows a secret:\n%s", out)
		}
	}
	return code, out
}

// wants examines until the exit code and a line for each pattern match: a worker that was replaced takes a moment to
// start.
func (p *practice) wants(what string, code int, lines ...string) {
	p.Helper()
	var got int
	var out string
	p.Cleanup(func() {
		if p.Failed() {
			p.Logf("%s: exit code %d\n%s", what, got, out)
		}
	})

	p.eventually(patience, what, func() bool {
		got, out = p.examine()
		missing := func(line string) bool { return !regexp.MustCompile(`(?m)^` + line).MatchString(out) }
		return got == code && !slices.ContainsFunc(lines, missing)
	})
}

// calls counts requests to the stand-ins: uses of the refresh token, and steps of purchases.
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

// TestDoctor causes one fault after the other in a running service. The doctor names each, and has no effect outside.
func TestDoctor(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	const worker, api = `\d+@\S+@worker\s+`, `\d+@\S+@api\s+`

	p.wants("before its first use a refresh token is unverified", 1,
		worker+`yandex\s+unverified\s`, api+`yandex\s+unverified\s`, `next: \S+@api yandex: list the folder with .starter files.`)
	if renewals, _ := p.calls(); renewals != 0 {
		t.Fatalf("a look has used the refresh token %d times", renewals)
	}
	if code, out := p.shell("starter files"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}

	wallet := regexp.QuoteMeta(p.wallet.Address().Friendly(false))
	all := []string{
		api + `postgresql\s+works\s+\S+ in \S+\s+PostgreSQL \d+\.\d+, schema \d+`, worker + `postgresql\s+works`,
		api + `temporal\s+works\s+namespace practice\s+Temporal 1\.`, worker + `temporal\s+works`,
		api + `telegram\s+works\s+@stagecoach_stand_in_bot \(7000000001\)\s+a Bot API server of its own: files up to 2000 MB`,
		worker + `telegram\s+works`,
		api + `yandex\s+works\s+account \d+\s+disk:/, the token is renewed by itself`, worker + `yandex\s+works`,
		worker + `qbittorrent\s+works\s+logged in\s+qBittorrent v4\.5\.2`,
		worker + `queues\s+works\s+stagecoach, delivery, torrents`, worker + `queues\s+works\s+quotes, payments`,
		worker + `toncenter\s+works\s+without a key\s+block \d+`, worker + `toncenter-2\s+off\s`, api + `toncenter\s+works`,
		worker + `wallet\s+works\s+` + wallet + `\s+\S+ GRAM, V5R1`,
		worker + `fragment\s+works\s+` + wallet + `\s+the session is connected to the wallet`,
	}

	p.wants("all is well", 0, all...)
	renewed, _ := p.calls()

	p.yandex.ExpireAccessTokens()
	p.wants("the storage refuses the access token", 1,
		api+`yandex\s+unverified\s+the access token is refused`,
		worker+`yandex\s+unverified`)
	if again, _ := p.calls(); again != renewed {
		t.Errorf("a look at a refused token has used the refresh token")
	}
	if code, out := p.shell("starter files"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}

	p.wants("the token is renewed by its use", 0, all...)

	settings := p.fragment.CurrentSettings()
	settings.SessionFailed = "Session expired"
	must(t, p.fragment.Set(settings))
	p.wants("the session at Fragment has ended", 1,
		worker+`fragment\s+refused\s+FRAGMENT_UNAUTHORIZED`,
		`next: \S+@worker fragment: FRAGMENT_UNAUTHORIZED log in at Fragment`)
	settings.SessionFailed = ""
	must(t, p.fragment.Set(settings))

	p.chain.AddFault(sim.Fault{Kind: "lost_answer"})
	p.wants("toncenter is dead", 1,
		worker+`toncenter\s+unreachable\s+CHAIN_UNREACHABLE`,
		worker+`wallet\s+unreachable\s+`+wallet,
		api+`toncenter\s+unreachable`)
	p.chain.ClearFaults()
	p.wants("all is well again", 0, all...)
	if _, purchases := p.calls(); purchases != 0 {
		t.Errorf("the looks have taken %d steps of a purchase", purchases)
	}

	p.replaceWorker("STAGECOACH_TELEGRAM_TOKEN", strings.Replace(botToken, "planted", "another", 1))
	p.wants("the worker has another bot's token", 1,
		worker+`telegram\s+refused\s+TELEGRAM_UNAUTHORIZED`,
		api+`telegram\s+works`,
		`next: \S+@worker telegram: TELEGRAM_UNAUTHORIZED give the token`)
	p.replaceWorker("STAGECOACH_QBITTORRENT_PASSWORD", "planted-but-wrong-password")
	p.wants("the worker has a wrong password", 1,
		worker+`qbittorrent\s+refused\s+PROVIDER_UNAUTHORIZED`,
		worker+`telegram\s+works`)
	p.worker.stop()
	p.startWorker()
	p.payments.stop()
	p.wants("nobody pays", 1,
		`none\s+queues\s+missing\s+quotes`,
		`none\s+queues\s+missing\s+payments`,
		`next: no process serves the task queue payments`,
		worker+`qbittorrent\s+works`)

	for _, secret := range []string{botToken, clientSecret, refreshToken, qbittorrentPassword, p.key} {
		if strings.Contains(p.log.String(), secret) {
			t.Error("a log shows a secret")
		}
	}
}

// dayStep is a command of the first day, and the evidence that it was done.
var dayStep = regexp.MustCompile("```sh\n([^\n]+)\n```\n<!-- (shows|tested|elsewhere): ([^\n]*) -->")

// TestFirstDay runs the commands of docs/first-day.md one after the other, except those that need real accounts.
func TestFirstDay(t *testing.T) {
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
	p.eventually(patience, "every process has looked", func() bool {
		_, out := p.examine()
		return !strings.Contains(out, "no answer")
	})
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
