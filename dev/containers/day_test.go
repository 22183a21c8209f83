package containers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// day is docs/first-day.md in a checkout: its commands run in a shell, as they are written.
type day struct {
	*checkout
	page     string
	function string            // with which the page calls starter in a container
	values   map[string]string // of .env
	known    map[string]string // variables of the commands, set from their outputs
}

func newDay(c *checkout) *day {
	c.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "first-day.md"))
	c.must(err)
	d := &day{checkout: c, page: string(page), values: maps.Clone(filled)}
	d.function = strings.TrimSpace(regexp.MustCompile(`(?m)^    starter\(\) .*$`).FindString(d.page))
	if d.function == "" {
		c.Fatal("the page has no function for starter")
	}
	d.known = map[string]string{
		"FILE_NAME": "a-file.bin", "TELEGRAM_ID": "2002", "WORKSPACE": "1", "BOOK": "1",
		"MAGNET": "magnet:?xt=urn:btih:" + strings.Repeat("5e", 20),
	}
	return d
}

func (d *day) with(t testing.TB) *day {
	other := *d
	other.checkout = d.checkout.with(t)
	return &other
}

var (
	dayStep   = regexp.MustCompile("```sh\n([^\n]+)\n```\n<!-- (shows|tested|elsewhere): ([^\n]*) -->")
	madeBy    = regexp.MustCompile("(?m)^\\| ((?:`[A-Z_]+`(?:, )?)+) \\| `([^`]+)`[^|]*\\|$")
	dayFile   = regexp.MustCompile(`(?m)^(\S+) .*a-file\.bin`)
	dayToken  = regexp.MustCompile(`sc_\S+`)
	dayResult = 3 * time.Minute // for what the page says to wait for
)

// followed runs every command of the page that needs no real account, in order, interleaved with what the page says in
// words.
func (d *day) followed() {
	d.Helper()
	for _, step := range dayStep.FindAllStringSubmatch(d.page, -1) {
		command, kind, shows := step[1], step[2], step[3]
		if kind == "elsewhere" {
			continue
		}

		d.before(command)
		if kind == "tested" {
			shows = "" // here, by what follows
		}
		began := time.Now()
		d.after(command, d.showing(command, os.Expand(shows, func(name string) string { return d.known[name] })))
		d.Logf("%.1f s: %s", time.Since(began).Seconds(), command)
	}
}

// showing runs a command until its output contains a text: some results take seconds.
func (d *day) showing(command, text string) string {
	d.Helper()
	for deadline := time.Now().Add(dayResult); ; time.Sleep(2 * time.Second) {
		out, err := d.shell(command)
		if err == nil && strings.Contains(out, text) {
			return out
		}
		if time.Now().After(deadline) || strings.Contains(command, "--build") {
			d.Fatalf("%s: %v; want %q in\n%s", command, err, text, out)
		}
	}
}

// shell runs a command line of the page, and returns its output.
func (d *day) shell(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-c", d.function+"\n"+command)
	shell.Dir = d.dir
	shell.Env = append(d.environment(), "STAGECOACH_TOKEN="+d.values["STAGECOACH_ADMIN_TOKEN"])
	for name, value := range d.known {
		shell.Env = append(shell.Env, name+"="+value)
	}
	out, err := shell.CombinedOutput()
	return string(out), err
}

// before does what the page says in words before a command.
func (d *day) before(command string) {
	d.Helper()
	switch command {
	case "docker compose up -d --build":
		d.makeSecrets()
		d.fill(d.values)
		if info, err := os.Stat(filepath.Join(d.dir, ".env")); err != nil || info.Mode().Perm() != 0o600 {
			d.Fatalf(".env: %v, %v", info, err)
		}
		d.compose("up", "-d", "standin-yandex", "standin-toncenter", "standin-fragment")
		d.compose("exec", "-T", "standin-yandex", "sh", "-c",
			"mkdir -p /standins/yandex/Shared && head -c 3000000 /dev/urandom >/standins/yandex/Shared/"+d.known["FILE_NAME"])
	case "starter tx list":
		d.standin("toncenter", 8084, "/_/deposits", `{"amount_nano":600000000,"comment":"demo_reader 50"}`)
	}
}

// makeSecrets creates the secrets with the commands of the page's table.
func (d *day) makeSecrets() {
	d.Helper()
	made := 0
	for _, row := range madeBy.FindAllStringSubmatch(d.page, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			secret, err := d.shell(strings.ReplaceAll(row[2], `\|`, "|"))
			d.must(err)
			d.values[strings.Trim(name, "`")] = strings.TrimSpace(secret)
			made++
		}
	}
	if made < 5 {
		d.Fatalf("the page makes %d secrets", made)
	}
}

// after keeps what later commands need from an output, and does what the page says in words after a command.
func (d *day) after(command, out string) {
	d.Helper()
	switch {
	case command == "docker compose up -d --build":
		d.healthy()
	case strings.HasSuffix(command, "grep telegram"):
		d.chat("/_/users/1000/messages", `{"text":"/start"}`)
	case command == "starter files":
		d.known["FILE_ID"] = dayFile.FindStringSubmatch(out)[1]
	case strings.HasPrefix(command, "starter user add"):
		d.known["USER_TOKEN"] = dayToken.FindString(out)
		// Telegram only lets a bot write to people who have written to it.
		d.chat(`/_/users/`+d.known["TELEGRAM_ID"]+`/messages`, `{"text":"/start"}`)
	case strings.HasPrefix(command, "starter deliver"):
		if chat := d.chat("/_/chats/"+d.known["TELEGRAM_ID"], ""); strings.Count(chat, `"`+d.known["FILE_NAME"]+`"`) != 1 {
			d.Errorf("the chat has\n%s", chat)
		}
	case strings.HasSuffix(command, "> backup.key)"):
		if info, err := os.Stat(filepath.Join(d.dir, "backup.key")); err != nil || info.Mode().Perm() != 0o600 {
			d.Errorf("the key: %v, %v", info, err)
		}
	case strings.HasSuffix(command, "> stagecoach.age"):
		text, err := os.ReadFile(filepath.Join(d.dir, "stagecoach.age"))
		if err != nil || !strings.HasPrefix(string(text), "age-encryption.org/v1\n") {
			d.Errorf("the backup begins with %.30q, %v", text, err)
		}
	}
}

// chat calls the simulated Telegram, which runs as the Bot API server of the profile telegram.
func (d *day) chat(path, body string) string {
	d.Helper()
	args := []string{"exec", "-T", "telegram-bot-api", "wget", "-q", "-O", "-"}
	if body != "" {
		args = append(args, "--header", "Content-Type: application/json", "--post-data", body)
	}
	return d.compose(append(args, fmt.Sprintf("http://127.0.0.1:8081%s", path))...)
}
