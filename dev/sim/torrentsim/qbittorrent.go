// Package torrentsim simulates qBittorrent, and a web seed from which torrents get their content.
package torrentsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"

	"stagecoach/dev/sim"
)

// QBittorrentOptions are the settings of the simulated qBittorrent.
type QBittorrentOptions struct {
	Dir       string           // keeps the torrents across restarts; empty: memory only
	Username  string           // of the Web API; empty means "admin"
	Password  string           // of the Web API; empty means "adminadmin"
	APIKey    string           // which version 5.2 accepts instead; empty: none
	SavePath  string           // of torrents without an explicit path; empty means "/downloads"
	Version   string           // "4.5.2" (also if empty), "5.0.4" or "5.2.0": names and responses differ
	Plan      TorrentPlan      // of torrents added from now on
	FreeSpace int64            // bytes; 0 means 100 GiB
	Queues    bool             // its preference queueing_enabled; the simulator itself keeps all torrents active
	StopsAt   string           // its preference torrent_stop_condition: "MetadataReceived" or "FilesChecked"; empty: it stops none
	Save      bool             // the files of torrents with a web seed are fetched from it
	Refresh   time.Duration    // how long a rechecked torrent shows its previous state
	Now       func() time.Time `json:"-"` // the clock; nil means time.Now
}

// qbVersions maps each supported program version to the version of its Web API.
var qbVersions = map[string]string{"4.5.2": "2.8.19", "5.0.4": "2.11.2", "5.2.0": "2.15.1"}

// QBittorrent simulates qBittorrent's Web API. Its torrents transfer no bytes unless told to: their progress follows
// from plan and clock. Thousands of them cost nothing, and one call of Advance completes a download of ten hours.
type QBittorrent struct {
	sim.Control
	options QBittorrentOptions
	system  *http.ServeMux

	mu        sync.Mutex
	clock     time.Duration   // sum of all calls of Advance
	torrents  []*simTorrent   // in order of adding
	tags      []string        // outlive the torrents that had them
	category  map[string]bool // that exist
	deletions []TorrentDeletion
	sessions  map[string]bool // by SID
	logins    map[string]failedLogins
	requestID int64

	fetching sync.WaitGroup
	closing  context.Context // ends with Close
	close    context.CancelFunc
}

// NewQBittorrent opens the simulator with the torrents that an earlier one left in the same folder.
func NewQBittorrent(o QBittorrentOptions) (*QBittorrent, error) {
	for field, fallback := range map[*string]string{
		&o.Username: "admin", &o.Password: "adminadmin", &o.SavePath: "/downloads", &o.Version: "4.5.2",
	} {
		if *field == "" {
			*field = fallback
		}
	}

	if qbVersions[o.Version] == "" {
		return nil, fmt.Errorf("qbittorrent simulator: unsupported version %q: use 4.5.2, 5.0.4 or 5.2.0", o.Version)
	}

	if o.FreeSpace == 0 {
		o.FreeSpace = 100 << 30
	}

	if o.Now == nil {
		o.Now = time.Now
	}

	q := &QBittorrent{
		options: o, category: map[string]bool{}, sessions: map[string]bool{}, logins: map[string]failedLogins{},
	}

	q.closing, q.close = context.WithCancel(context.Background())
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o755); err != nil {
			return nil, fmt.Errorf("qbittorrent simulator: %w", err)
		}
		if err := q.load(); err != nil {
			return nil, fmt.Errorf("qbittorrent simulator: %w", err)
		}
	}

	q.addRoutes(q.SetUp(sim.Protocol{
		Mask: func(p string) string { return p }, Fail: failQBittorrent, Named: qbittorrentFaults,
	}))
	q.addMethods()
	return q, nil
}

// Close releases held connections and keeps the torrents; the handler must no longer be served.
func (q *QBittorrent) Close() error {
	q.ClearFaults()
	q.close()
	q.fetching.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.save()
}

// qbittorrentFaults are responses that differ from the usual one of their status.
var qbittorrentFaults = map[string]sim.Problem{
	"fails":  {Status: 200, Text: "Fails."}, // the text of most refusals
	"banned": {Status: 403, Text: "Your IP address has been banned after too many failed authentication attempts."},
}

// failQBittorrent responds with an error as the Web API does: a status and one line.
func failQBittorrent(w http.ResponseWriter, _ *http.Request, p sim.Problem) {
	if p.Text == "" {
		p.Text = http.StatusText(p.Status)
	}
	writeText(w, p.Status, p.Text)
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the only possible error is a disconnected client
}

// ServeHTTP serves the Web API under /api/v2/ and the control routes under /_/.
func (q *QBittorrent) ServeHTTP(w http.ResponseWriter, r *http.Request) { q.Serve(w, r, q.system) }

// addMethods adds the methods of the Web API, each with its HTTP methods.
func (q *QBittorrent) addMethods() {
	q.system = http.NewServeMux()
	q.system.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failQBittorrent(w, r, sim.Problem{Status: http.StatusNotFound})
	})
	q.system.HandleFunc("POST /api/v2/auth/login", q.login)
	read := func(name string, m method) { q.system.Handle("/api/v2/"+name, q.method(m)) }
	act := func(name string, m method) {
		q.system.Handle("POST /api/v2/"+name, q.method(m))
		q.system.HandleFunc("/api/v2/"+name, func(w http.ResponseWriter, r *http.Request) {
			failQBittorrent(w, r, sim.Problem{Status: http.StatusMethodNotAllowed})
		})
	}

	read("app/version", func(*http.Request) (any, error) { return "v" + q.options.Version, nil })
	read("app/webapiVersion", func(*http.Request) (any, error) { return qbVersions[q.options.Version], nil })
	read("app/defaultSavePath", func(*http.Request) (any, error) { return q.options.SavePath, nil })
	read("app/preferences", func(*http.Request) (any, error) {
		return map[string]any{"queueing_enabled": q.options.Queues, "torrent_stop_condition": cmp.Or(q.options.StopsAt, "None")}, nil
	})
	read("sync/maindata", q.mainData)
	read("torrents/info", q.listTorrents)
	read("torrents/files", q.listFiles)
	read("torrents/tags", func(*http.Request) (any, error) { return append([]string{}, q.tags...), nil })
	act("torrents/add", q.addTorrents)
	act("torrents/delete", q.deleteTorrents)
	act("torrents/recheck", q.recheckTorrents)
	act("torrents/addTags", q.addTags)
	act("torrents/removeTags", q.removeTags)
	act("torrents/deleteTags", q.deleteTags)
	act("torrents/createCategory", q.createCategory)
	act("torrents/setCategory", q.setCategory)
	pause, resume := "pause", "resume"
	if q.modern() {
		pause, resume = "stop", "start"
	}

	act("torrents/"+pause, q.pauseTorrents)
	act("torrents/"+resume, q.resumeTorrents)
}

// modern reports whether names are those of version 5.
func (q *QBittorrent) modern() bool { return strings.HasPrefix(q.options.Version, "5") }

// plain reports whether torrents/add only responds "Ok." or "Fails.", as before version 5.2.
func (q *QBittorrent) plain() bool { return q.options.Version != "5.2.0" }

// method is one method of the Web API. It runs with q.mu held and returns a text, or a value to be written as JSON.
type method func(r *http.Request) (any, error)

// method wraps a method: its session, its parameters, what has become due since the last call, and the format of its
// response.
func (q *QBittorrent) method(m method) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !q.authorised(r) {
			failQBittorrent(w, r, sim.Problem{Status: http.StatusForbidden})
			return
		}
		if err := readForm(r); err != nil {
			failQBittorrent(w, r, sim.Problem{Status: http.StatusBadRequest})
			return
		}

		result, err := q.run(m, r)
		var refusal *sim.Problem
		switch text, isText := result.(string); {
		case errors.As(err, &refusal):
			failQBittorrent(w, r, *refusal)
		case err != nil:
			failQBittorrent(w, r, sim.Problem{Status: http.StatusInternalServerError, Text: err.Error()})
		case isText:
			writeText(w, http.StatusOK, text)
		default:
			sim.WriteJSON(w, http.StatusOK, result)
		}
	})
}

// run calls a method and keeps its changes.
func (q *QBittorrent) run(m method, r *http.Request) (any, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle()
	result, err := m(r)
	if err == nil && r.Method == http.MethodPost {
		err = q.save()
	}
	return result, err
}

// now is the simulated time; q.mu must be held.
func (q *QBittorrent) now() time.Time { return q.options.Now().Add(q.clock) }

// settle makes everything happen that is due; q.mu must be held.
func (q *QBittorrent) settle() {
	now := q.now()
	for _, t := range q.torrents {
		if !t.Recheck.IsZero() && !now.Before(t.Recheck) {
			t.recheck(now)
		}
		t.settle(now, q.options.FreeSpace == 0)
	}
}

var windowsPath = regexp.MustCompile(`^([A-Za-z]:|\\\\)`)

// place is the save path of a torrent that requests a path.
func (q *QBittorrent) place(asked string) string {
	switch {
	case asked == "":
		return q.options.SavePath
	case windowsPath.MatchString(asked): // as the real program on Windows accepts them
		return asked
	case path.IsAbs(asked):
		return path.Clean(asked)
	}
	return path.Join(q.options.SavePath, asked)
}
