package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/stack"
	"stagecoach/dev/wait"
	"stagecoach/internal/devinfo"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/starter/command"
)

// patience is how long a run of dev may take on a busy machine.
const patience = 8 * time.Minute

const nastyName = "50%25 off? #1 & \"ё\"\n;$(rm) <b>'.txt"

func put(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	// Dev may look into the folder at any moment: the file is there at once, and complete.
	fresh := filepath.Join(t.TempDir(), "fresh")
	if err := os.WriteFile(fresh, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, name); err != nil {
		t.Fatal(err)
	}
}

// received lists the documents in the demo user's chat as "name size", for a dev that is stopped.
func received(t *testing.T, state string) (documents []telegramsim.Document) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(state, "keep.json"))
	if err != nil {
		t.Fatal(err)
	}

	var kept struct {
		Token string `json:"telegram_token"`
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}

	standIn, err := stack.NewStandIn(telegramsim.Options{Dir: filepath.Join(state, "telegram"), Token: kept.Token})
	if err != nil {
		t.Fatal(err)
	}
	telegram := standIn.(*telegramsim.Server)
	defer telegram.Close()

	for _, m := range telegram.Chat(1001).Messages {
		if m.Document != nil {
			documents = append(documents, *m.Document)
		}
	}
	return documents
}

// portNames are the ports of dev, as keep.json has them.
var portNames = []string{
	"api", "api_2", "fragment", "metrics", "oidc", "postgres", "qbittorrent", "telegram", "temporal", "toncenter", "torznab",
	"web_seed", "web_ui", "yandex",
}

// newState makes a state folder whose first dev takes any free ports, so that parallel tests do not compete for the
// usual ones.
func newState(t *testing.T) string {
	t.Helper()
	state := t.TempDir()
	keepPorts(t, state, 0)
	return state
}

// keepPorts makes a state folder in which dev has used this port for everything; 0: any free one.
func keepPorts(t *testing.T, state string, port int) {
	t.Helper()
	ports := map[string]int{}
	for _, name := range portNames {
		ports[name] = port
	}

	data, err := json.Marshal(map[string]any{"ports": ports})
	if err != nil {
		t.Fatal(err)
	}

	put(t, filepath.Join(state, "keep.json"), data)
}

// firstRound is in the output of a dev that stays, when its first round is over: it begins the table of its results.
const firstRound = "  JOB "

func skipInShort(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	t.Parallel()
}

func TestDevOnceTwice(t *testing.T) {
	skipInShort(t)
	state := newState(t)
	put(t, filepath.Join(state, "yandex", "a folder", nastyName), bytes.Repeat([]byte("x"), 100_000))

	first := launch(t, "--once", "--state", state)
	if code := first.wait(patience); code != 0 {
		t.Fatalf("exit code %d", code)
	}

	for _, want := range []string{
		"/workflows?query=WorkflowType+IN+", "DELIVERED", "demo-64MiB.bin", "/workflows/delivery%2F", "/workflows/task%2F", "STUCK",
		"/workflows/download%2F", "/workflows/transaction%2F",
		"Username not found", "it can be gifted Stars now", "All 11 ended as expected",
	} {
		if !strings.Contains(first.output(), want) {
			t.Errorf("%q is not in the output", want)
		}
	}

	if strings.Contains(first.output(), "\x1b") {
		t.Error("there are escape sequences in an output that is no terminal")
	}

	info, err := devinfo.Read(state)
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{devinfo.File, "keep.json"} {
		if stat, err := os.Stat(filepath.Join(state, name)); err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, stat.Mode(), err)
		}
	}

	data, _ := os.ReadFile(filepath.Join(state, devinfo.File))
	var keys map[string]any
	if err := json.Unmarshal(data, &keys); err != nil {
		t.Fatal(err)
	}

	for _, key := range []string{"api", "docs", "temporal", "web_ui", "metrics", "database_url", "admin_token", "user_token", "stand_ins"} {
		if keys[key] == "" || keys[key] == nil {
			t.Errorf("dev.json has no %s", key)
		}
	}

	for _, name := range []string{"telegram", "yandex", "qbittorrent", "web_seed", "toncenter", "fragment", "oidc", "torznab"} {
		if address := keys["stand_ins"].(map[string]any)[name]; address == "" || address == nil {
			t.Errorf("dev.json does not know %s", name)
		}
	}

	var kept struct{ Ports map[string]int }
	if data, err := os.ReadFile(filepath.Join(state, "keep.json")); err != nil || json.Unmarshal(data, &kept) != nil {
		t.Errorf("keep.json: %v", err)
	}
	if names := slices.Sorted(maps.Keys(kept.Ports)); !slices.Equal(names, portNames) {
		t.Errorf("keep.json has the ports %v, and the tests ask for %v: parallel tests compete for the difference", names, portNames)
	}

	if _, _, err := servers.FindQBittorrent(t.Context()); err == nil {
		brought := filepath.Join(state, "qbittorrent", "downloads", "job-1", "demo-book-16MiB.epub")
		if file, err := os.Stat(brought); err != nil || file.Size() != 16<<20 {
			t.Errorf("%v, %v", file, err)
		}
	}

	sizes := map[int64]int{}
	for _, d := range received(t, state) {
		sizes[d.Size]++
	}

	if len(sizes) != 3 || sizes[64<<20] != 1 || sizes[100_000] != 1 || sizes[16<<20] != 1 {
		t.Errorf("the chat got documents of the sizes %v", sizes)
	}

	second := launch(t, "--once", "--state", state)
	if code := second.wait(patience); code != 0 || !strings.Contains(second.output(), "earlier run: 11") {
		t.Errorf("exit code %d of the second run", code)
	}
	if n := len(received(t, state)); n != 3 {
		t.Errorf("after the second run the chat has %d documents", n)
	}
	if again, err := devinfo.Read(state); err != nil || again.AdminToken != info.AdminToken || again.UserToken != info.UserToken {
		t.Errorf("the tokens have changed, %v", err)
	}

	put(t, filepath.Join(state, "yandex", "empty"), nil)
	third := launch(t, "--once", "--state", state)
	if code := third.wait(patience); code != 1 || !strings.Contains(third.output(), "FILE_EMPTY") {
		t.Errorf("exit code %d of a run with a file that cannot be delivered", code)
	}
}

func TestLongDevStays(t *testing.T) {
	night.Only(t)
	skipInShort(t)
	state := t.TempDir()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()

	keepPorts(t, state, busy.Addr().(*net.TCPAddr).Port)

	dev := launch(t, "--quiet", "--state", state)
	info := dev.running(state)
	watched := scrape(t, info.Metrics)
	for _, address := range []string{info.API, info.Temporal, info.StandIns.Telegram} {
		if strings.HasSuffix(address, busy.Addr().String()) {
			t.Errorf("%s is a port that was busy", address)
		}
	}

	child := children(dev.cmd.Process.Pid)
	if len(child) < 2 {
		t.Errorf("the children are %v", child)
	}

	put(t, filepath.Join(state, "yandex", "dropped.txt"), []byte("dropped while it runs"))
	wait.Eventually(t, "the dropped file is delivered", func() bool {
		return strings.Contains(dev.output(), "DELIVERED    dropped.txt")
	})
	at := []string{"--state", state}

	for line, want := range map[string]string{
		"files":        "dropped.txt",
		"deliver list": "DELIVERED",
		"user list":    "Demo user",
		"deliver /dropped.txt --json --idempotency-key k": `"state":"DELIVERED"`,
	} {
		if code, out, errs := runStarter(t, append(strings.Fields(line), at...)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, output %q, errors %q", line, code, out, errs)
		}
	}

	wait.Eventually(t, "the status has counted the delivery", func() bool {
		code, out, _ := runStarter(t, append([]string{"status"}, at...)...)
		return code == 0 && strings.Contains(out, "DELIVERED ")
	})

	if code, _, errs := runStarter(t, "deliver", "/no such file", "--state", state); code != 1 || !strings.Contains(errs, "FILE_NOT_FOUND") {
		t.Errorf("no such file: exit code %d, %s", code, errs)
	}

	if watched != nil {
		wait.Eventually(t, "the demonstration is over: each workload has metrics then", func() bool {
			return strings.Contains(dev.output(), firstRound)
		})
		watched.wantAll()
	}

	other := launch(t, "--state", state)
	if code := other.wait(patience); code != 1 || !strings.Contains(other.output(), "another process uses") {
		t.Errorf("a second dev: exit code %d, %s", code, other.output())
	}
	if response, err := http.Get(info.API + "/ready"); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("after a second dev was refused, the first is not ready: %v, %v", response, err)
	}

	if err := dev.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := dev.wait(patience); code != 0 {
		t.Errorf("exit code %d after Ctrl-C", code)
	}

	allGone(t, child)

	held, err := servers.HoldPorts(port(t, info.Metrics))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	again := launch(t, "--no-demo", "--state", state)
	if now := again.running(state); now != info {
		t.Errorf("dev.json has changed over a restart:\n%+v\n%+v", info, now)
	}

	child = children(again.cmd.Process.Pid)
	if err := again.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	again.wait(patience)
	allGone(t, child)

	last := launch(t, "--once", "--state", state)
	if code := last.wait(patience); code != 0 {
		t.Errorf("exit code %d after a kill -9", code)
	}
	if n := len(received(t, state)); n != 4 { // the demo's file and book, the new file, and that one again by its key
		t.Errorf("the chat has %d documents", n)
	}
}

func TestLongDevStopsAtOnceWhenAskedTwice(t *testing.T) {
	night.Only(t)
	skipInShort(t)
	state := newState(t)
	dev := launch(t, "--no-demo", "--state", state)
	dev.running(state)
	child := children(dev.cmd.Process.Pid)

	// It waits for each server that it stops, so that the second signal comes before the end.
	if err := syscall.Kill(named(t, child, "temporal"), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := dev.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, "it stops", func() bool { return strings.Contains(dev.output(), "Stopping …") })
	if err := dev.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if code := dev.wait(patience); code != 1 {
		t.Errorf("exit code %d", code)
	}

	allGone(t, child)
}

func TestLongDevStoppedInMidDelivery(t *testing.T) {
	night.Only(t)
	skipInShort(t)
	state := newState(t)
	dev := launch(t, "--quiet", "--state", state)
	info := dev.running(state)
	wait.Eventually(t, "the demonstration is over: nothing else is sent", func() bool {
		return strings.Contains(dev.output(), firstRound)
	})
	// At this speed a file takes a quarter of an hour.
	steer(t, "POST", info.StandIns.Telegram+"/_/faults", `{"match":"sendDocument","kind":"throttle","bytes_per_second":65536}`)
	put(t, filepath.Join(state, "yandex", "slow.bin"), bytes.Repeat([]byte("slow"), 16<<20))

	wait.Eventually(t, "the delivery is under way", func() bool {
		return strings.Contains(dev.output(), "STREAMING    slow.bin")
	})
	if err := dev.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := dev.wait(patience); code != 0 {
		t.Errorf("exit code %d after Ctrl-C", code)
	}

	again := launch(t, "--once", "--state", state)
	if code := again.wait(patience); code != 0 || !strings.Contains(again.output(), "DELIVERED    slow.bin") {
		t.Errorf("exit code %d: the delivery did not go on", code)
	}
}

func TestLongDevStoppedInMidDownload(t *testing.T) {
	night.Only(t)
	skipInShort(t)
	state := newState(t)
	first := launch(t, "--state", state)
	info := first.running(state)
	// The demo requests it after all others, and it waits for its web seed.
	steer(t, "POST", info.StandIns.WebSeed+"/_/faults", `{"match":"content","kind":"timeout","times":100}`)

	wait.Eventually(t, "the download is under way", func() bool {
		return strings.Contains(first.output(), "download 1  downloading")
	})
	for line, want := range map[string]string{
		"book list": "Noise, a demonstration", "download list --in-status downloading": "Noise, a demonstration (id 1)", "download show 1": "download/1/1/text",
		"download events 1": "started", "status": "answers",
	} {
		if code, out, errs := runStarter(t, append(strings.Fields(line), "--state", state)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, output %q, errors %q", line, code, out, errs)
		}
	}

	if err := first.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := first.wait(patience); code != 0 {
		t.Errorf("exit code %d after Ctrl-C", code)
	}

	again := launch(t, "--state", state)
	info = again.running(state)
	t.Cleanup(func() {
		if t.Failed() {
			logDownload(t, state, info)
		}
	})
	wait.Eventually(t, "the download goes on", func() bool {
		code, out, _ := runStarter(t, "download", "list", "--in-status", "completed", "--state", state)
		return code == 0 && strings.Contains(out, "Noise, a demonstration (id 1)")
	})
	wait.Eventually(t, "the demo shows that", func() bool {
		return strings.Contains(again.output(), "download 1  completed")
	})
	for line, want := range map[string]string{"task list": "IN_PROGRESS", "download list": "Slow reading"} {
		wait.Eventually(t, "a scene goes on after the demo: "+line, func() bool {
			code, out, _ := runStarter(t, append(strings.Fields(line), "--state", state)...)
			return code == 0 && strings.Contains(out, want)
		})
	}
	if err := again.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := again.wait(patience); code != 0 {
		t.Errorf("exit code %d after Ctrl-C", code)
	}
}

// logDownload logs what the record, Temporal and qBittorrent have of download 1, for a dev that runs.
func logDownload(t *testing.T, state string, info devinfo.Info) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for _, line := range []string{"download show 1", "download events 1"} {
		var out, errs strings.Builder
		code := command.Run(ctx, append(strings.Fields("starter "+line), "--state", state), &out, &errs)
		t.Logf("%s: exit code %d\n%s%s", line, code, &out, &errs)
	}

	temporal, err := client.DialContext(ctx, client.Options{HostPort: info.Temporal, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Logf("Temporal: %v", err)
	} else {
		defer temporal.Close()
		for _, id := range []string{"download/1/1/text", lifecycle.DownloadSyncID} {
			workflow, err := temporal.DescribeWorkflowExecution(ctx, id, "")
			t.Logf("workflow %s: %v, pending activities %v, %v", id, workflow.GetWorkflowExecutionInfo().GetStatus(), workflow.GetPendingActivities(), err)
		}
	}

	password, err := os.ReadFile(filepath.Join(state, "qbittorrent", "password"))
	if err != nil { // its simulator has none
		t.Logf("qBittorrent: %v", err)
		return
	}
	torrents, err := qbittorrent.New(qbittorrent.Options{
		URL: info.StandIns.QBittorrent, Username: "stagecoach", Password: strings.TrimSpace(string(password)), ActiveCategory: "stagecoach",
	}).List(ctx)
	t.Logf("active torrents: %+v, %v", torrents, err)
}

// port is the port of an address.
func port(t *testing.T, address string) int {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(parsed.Port())
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// steer controls a simulator.
func steer(t *testing.T, method, url, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}

	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()

	if response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, url, response.Status)
	}
}

func TestLongDevWithoutQBittorrent(t *testing.T) {
	night.Only(t)
	skipInShort(t)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "qbittorrent-nox"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}

	path := "PATH=" + broken + string(os.PathListSeparator) + os.Getenv("PATH")
	dev := launchWith(t, []string{path}, "--once", "--state", newState(t))
	if code := dev.wait(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}

	for _, want := range []string{"a simulator, which fetches", "download 1  completed"} {
		if !strings.Contains(dev.output(), want) {
			t.Errorf("%q is not in the output", want)
		}
	}
}

func TestDevRefusesWrongSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	t.Setenv("STAGECOACH_DELIVERY_PARALLEL", "many")
	dev := launch(t, "--no-demo", "--state", newState(t))
	if code := dev.wait(patience); code != 2 || !strings.Contains(dev.output(), "STAGECOACH_DELIVERY_PARALLEL") {
		t.Errorf("exit code %d", code)
	}
}

func TestLongSimulatorAlone(t *testing.T) {
	night.Only(t)
	skipInShort(t)
	for name, path := range map[string]string{
		"telegram": "/_/chats/1", "yandex": "/_/requests", "qbittorrent": "/_/torrents",
		"toncenter": "/api/v3/masterchainInfo", "fragment": "/stars/buy",
		"oidc": "/.well-known/openid-configuration", "torznab": "/1/api?t=caps&apikey=only-for-the-stand-in",
	} {
		args := []string{"standin", name, "--addr", "127.0.0.1:0"}
		if name != "oidc" && name != "torznab" { // they keep nothing
			args = append(args, "--dir", t.TempDir())
		}
		standIn := launch(t, args...)
		var url string
		wait.Eventually(t, name+" says where it is", func() bool {
			_, err := fmt.Sscanf(standIn.output(), name+" simulator: %s", &url)
			return err == nil
		})
		if response, err := http.Get(url + path); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v", name, response, err)
		}
		if err := standIn.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := standIn.wait(patience); code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}
