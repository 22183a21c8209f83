package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	qbittorrentUser      = "stagecoach"
	qbittorrentStartTime = 60 * time.Second

	// Older versions do not report the two info hashes of a torrent.
	qbittorrentMajor, qbittorrentMinor = 4, 4
)

// QBittorrentOptions says where and how to run qBittorrent.
type QBittorrentOptions struct {
	Dir  string    // holds the profile, the password, a lock and the downloads; created when missing
	Port int       // preferred port of the Web API; replaced by a free one when busy; 0 means any
	Log  io.Writer // gets the server's output; must allow concurrent use; may be nil
}

// QBittorrent is a private qBittorrent server. It only connects to peers and web seeds on this machine.
type QBittorrent struct {
	URL       string // of the Web API; stays the same over Restart
	Username  string
	Password  string
	Downloads string // the folder of torrents without an explicit path
	Peer      string // host:port for other peers
	Version   string // such as 4.5.2

	child
	options        QBittorrentOptions
	binary         string
	port, peerPort int
}

var qbittorrentVersion = regexp.MustCompile(`v((\d+)\.(\d+)[.\d]*)`)

// FindQBittorrent returns the path and the version of a "qbittorrent-nox" in the PATH that is new enough.
func FindQBittorrent(ctx context.Context) (path, version string, err error) {
	path, err = exec.LookPath("qbittorrent-nox")
	if err != nil {
		return "", "", fmt.Errorf("qbittorrent-nox is not installed: %w", err)
	}

	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()

	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("%s does not run: %w", path, err)
	}

	match := qbittorrentVersion.FindStringSubmatch(string(out))
	if match == nil {
		return "", "", fmt.Errorf("the version of %s is unknown: %q", path, strings.TrimSpace(string(out)))
	}

	major, _ := strconv.Atoi(match[2])
	minor, _ := strconv.Atoi(match[3])
	if major < qbittorrentMajor || major == qbittorrentMajor && minor < qbittorrentMinor {
		return "", "", fmt.Errorf("%s is %s, older than %d.%d", path, match[1], qbittorrentMajor, qbittorrentMinor)
	}

	return path, match[1], nil
}

// StartQBittorrent starts the installed server with the torrents in o.Dir and returns when its Web API answers. The
// context only limits the start; the server runs until Stop or Kill.
func StartQBittorrent(ctx context.Context, o QBittorrentOptions) (*QBittorrent, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start qBittorrent: %w", err)
	}

	o.Dir = dir
	q := &QBittorrent{options: o, Username: qbittorrentUser, Downloads: filepath.Join(dir, "downloads")}
	// A torrent that was just added may be lost after a kill; its progress is lost.
	q.child = child{
		name: "qBittorrent in " + dir, lockFile: filepath.Join(dir, "lock"),
		launch: q.run, end: q.shutDown, crash: (*process).kill,
	}
	if err := os.MkdirAll(q.Downloads, 0o755); err != nil {
		return nil, fmt.Errorf("start qBittorrent: %w", err)
	}
	if q.binary, q.Version, err = FindQBittorrent(ctx); err != nil {
		return nil, fmt.Errorf("start qBittorrent: %w", err)
	}
	if err := q.startAnywhere(ctx, q.choosePorts); err != nil {
		return nil, fmt.Errorf("start qBittorrent in %s: %w", dir, err)
	}

	return q, nil
}

func (q *QBittorrent) choosePorts(preferred bool) (port int, err error) {
	if preferred {
		port = q.options.Port
	}
	if q.port, err = PreferPort(port); err != nil {
		return 0, err
	}

	q.peerPort, err = FreePort()
	q.URL, q.Peer = "http://"+loopback(q.port), loopback(q.peerPort)
	return q.port, err
}

// run writes the settings and starts the server on the chosen ports.
func (q *QBittorrent) run(ctx context.Context) (*process, error) {
	if err := q.readPassword(); err != nil {
		return nil, err
	}
	if err := q.configure(); err != nil {
		return nil, err
	}

	process, err := start(command{
		path: q.binary,
		args: []string{"--profile=" + q.options.Dir},
		dir:  q.options.Dir,
		// The server must not read its own variables from our environment. The locale determines how it writes file names.
		env: environment([]string{"QBT_", "LC_", "LANG"}, "LC_ALL=C.UTF-8", "HOME="+q.options.Dir),
		// Its torrents survive SIGKILL. A signal that it handles itself can come at a bad moment and make it hang.
		death: syscall.SIGKILL,
		log:   q.options.Log,
	})
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, qbittorrentStartTime)
	defer cancel()

	if err := process.await(ctx, 25*time.Millisecond, q.ready); err != nil {
		process.kill()
		return nil, err
	}
	return process, nil
}

// readPassword reads the password of the Web API, or creates one at the first start.
func (q *QBittorrent) readPassword() error {
	path := filepath.Join(q.options.Dir, "password")
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		content = []byte(rand.Text() + "\n")
		err = os.WriteFile(path, content, 0o600)
	}

	if err != nil {
		return err
	}

	// Others may read it during a restart, which does not change it.
	if p := strings.TrimSpace(string(content)); p != q.Password {
		q.Password = p
	}
	return nil
}

// ready logs in once and ends the session.
func (q *QBittorrent) ready(ctx context.Context) error { return q.callOnce(ctx, "auth/logout") }

// callOnce calls a method without parameters in its own session.
func (q *QBittorrent) callOnce(ctx context.Context, method string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	form := url.Values{"username": {q.Username}, "password": {q.Password}}
	login, err := q.post(ctx, "auth/login", strings.NewReader(form.Encode()), nil)
	if err != nil {
		return err
	}
	if len(login.Cookies()) == 0 {
		return permanentError{fmt.Errorf("the server on %s does not accept our password (%s)", q.URL, login.Status)}
	}

	_, err = q.post(ctx, method, nil, login.Cookies())
	return err
}

func (q *QBittorrent) post(
	ctx context.Context, method string, form io.Reader, cookies []*http.Cookie,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL+"/api/v2/"+method, form)
	if err != nil {
		return nil, err
	}

	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, cookie := range cookies {
		request.AddCookie(cookie)
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	return response, response.Body.Close()
}

// shutDown asks the server to end. Its signal handling is not safe, so the signal comes second.
func (q *QBittorrent) shutDown(p *process) error {
	select {
	case <-p.done:
		return p.exited()
	default:
	}

	if q.callOnce(context.Background(), "app/shutdown") != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails when it has just ended
	}

	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		p.kill() // version 4.5 sometimes hangs when it ends; its torrents survive this
	}
	return nil
}

// String describes the server without its password.
func (q *QBittorrent) String() string { return "qBittorrent " + q.Version + " on " + loopback(q.port) }
