package torrentsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stagecoach/dev/sim"
)

// errNoTorrent means that a test names a torrent that does not exist.
var errNoTorrent = errors.New("no such torrent")

// Torrent is a torrent as a test reads or creates it.
type Torrent struct {
	Hash        string      `json:"hash"` // what the Web API calls hash
	InfohashV1  string      `json:"infohash_v1"`
	InfohashV2  string      `json:"infohash_v2"`
	Name        string      `json:"name"`
	State       string      `json:"state"`
	Progress    float64     `json:"progress"` // 0 to 1
	Size        int64       `json:"size"`     // bytes
	Speed       int64       `json:"speed"`    // bytes per second
	Category    string      `json:"category"`
	Tags        []string    `json:"tags"`
	SavePath    string      `json:"save_path"`
	ContentPath string      `json:"content_path"`
	Plan        TorrentPlan `json:"plan"`
}

// TorrentDeletion is a torrent that a client deleted.
type TorrentDeletion struct {
	Hash  string    `json:"hash"`
	Name  string    `json:"name"`
	Tags  []string  `json:"tags"`
	Files bool      `json:"files"` // its files too
	At    time.Time `json:"at"`
}

// TorrentFile is a file of a torrent as torrents/files shows it.
type TorrentFile struct {
	Name     string `json:"name"` // relative to the save path
	Size     int64  `json:"size"`
	Priority int    `json:"priority"` // 0: not wanted
}

// TorrentChange is a change of a torrent; a nil field changes nothing.
type TorrentChange struct {
	State    *string        // pins this state and stops the torrent's clock; "" releases it
	Progress *float64       // 0 to 1
	Duration *time.Duration // of the whole download
	Gone     *bool          // its files are missing: only a recheck shows it
	Ratio    *float64       // of what was shared
	Files    []TorrentFile
}

// steer runs do between two settlements: what was due before has happened, and the effects of do are immediate.
func (q *QBittorrent) steer(do func() error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settle()
	if err := do(); err != nil {
		return err
	}
	q.settle()
	return q.save()
}

// Torrents returns all torrents, in the order in which they were added.
func (q *QBittorrent) Torrents() []Torrent {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.settle()
	now, all := q.now(), make([]Torrent, 0, len(q.torrents))
	for _, t := range q.torrents {
		w := t.wire(now, q.modern())
		all = append(all, Torrent{
			Hash: w.Hash, InfohashV1: t.V1, InfohashV2: t.V2, Name: t.Name, State: w.State, Progress: w.Progress, Size: w.Size,
			Speed: w.DlSpeed, Category: t.Category, Tags: append([]string{}, t.Tags...), SavePath: t.SavePath,
			ContentPath: w.ContentPath, Plan: t.Plan,
		})
	}

	return all
}

// Tags returns all known tags, including unused ones.
func (q *QBittorrent) Tags() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.tags)
}

// Deletions returns the torrents that clients deleted, oldest first.
func (q *QBittorrent) Deletions() []TorrentDeletion {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.deletions)
}

// Put adds torrents with metadata, bypassing the Web API. Of each it uses the hashes, the name, the size, the category,
// the tags, the save path and the plan. It derives a missing hash from the name.
func (q *QBittorrent) Put(torrents ...Torrent) error {
	return q.steer(func() error {
		now := q.now()
		for _, in := range torrents {
			t := simTorrent{
				V1: strings.ToLower(in.InfohashV1), V2: strings.ToLower(in.InfohashV2), Name: in.Name, Size: in.Size,
				Category: in.Category,
				Tags:     splitTags(strings.Join(in.Tags, ",")), SavePath: q.place(in.SavePath), RatioLimit: unlimitedRatio,
				SeedLimit: unlimitedRatio,
				AddedOn:   now, Since: now, Plan: in.Plan,
			}
			if t.V1+t.V2 == "" {
				t.V1 = laterHash(in.Name)[:40]
			}

			if len(t.V1)%40 != 0 || len(t.V2)%64 != 0 {
				return fmt.Errorf("torrent %q: infohash_v1 has 40 digits, infohash_v2 has 64", in.Name)
			}

			q.take(&t)
		}

		return nil
	})
}

// find returns the torrents with this hash, info hash, tag or name.
func (q *QBittorrent) find(match string) ([]*simTorrent, error) {
	var found []*simTorrent
	for _, t := range q.torrents {
		if t.hash() == match || t.V1 == match || t.V2 == match || t.Name == match || slices.Contains(t.Tags, match) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return nil, errNoTorrent
	}
	return found, nil
}

// Change changes the torrents with this hash, info hash, tag or name.
func (q *QBittorrent) Change(match string, c TorrentChange) error {
	return q.steer(func() error {
		found, err := q.find(match)
		for _, t := range found {
			if err := t.change(c, q.now()); err != nil {
				return err
			}
		}
		return err
	})
}

// change works on a copy, so that an invalid change leaves the torrent as it was.
func (t *simTorrent) change(c TorrentChange, now time.Time) error {
	next, share := *t, t.progress(now)
	if c.Duration != nil {
		next.Plan.Duration = *c.Duration
	}

	if c.Gone != nil {
		next.Gone = *c.Gone
	}

	if c.Ratio != nil {
		next.Ratio = *c.Ratio
	}

	if c.Files != nil {
		next.Files = c.Files
	}

	if c.State != nil && *c.State != "" {
		next.hold(*c.State, now)
	} else if c.State != nil {
		next.release(now)
	}

	full := 1.0
	switch {
	case c.Progress != nil:
	case c.State != nil && (seeding(*c.State) || *c.State == "moving"):
		c.Progress = &full
	case next.Plan.Duration != t.Plan.Duration && share > 0 && next.Plan.Duration > 0: // another speed from here on
		c.Progress = &share
	}

	if c.Progress != nil {
		if err := next.setProgress(*c.Progress, now); err != nil {
			return err
		}
	}

	*t = next
	return nil
}

// Remove deletes the torrents with this hash, info hash, tag or name. Deletions does not list them.
func (q *QBittorrent) Remove(match string) error {
	return q.steer(func() error {
		found, err := q.find(match)
		q.remove(found, false, false)
		return err
	})
}

// Advance advances the simulated clock.
func (q *QBittorrent) Advance(d time.Duration) error {
	return q.steer(func() error {
		q.clock += max(d, 0)
		return nil
	})
}

// Restart ends all sessions. Of the torrents added last, the number lose is lost with their tags, as after a crash
// before they were saved.
func (q *QBittorrent) Restart(lose int) error {
	return q.steer(func() error {
		q.sessions = map[string]bool{}
		q.logins = map[string]failedLogins{}
		keep := max(len(q.torrents)-max(lose, 0), 0)
		lost := slices.Clone(q.torrents[keep:])
		q.remove(lost, false, false)

		for _, t := range lost {
			q.tags = slices.DeleteFunc(q.tags, func(tag string) bool {
				return slices.Contains(t.Tags, tag) && !slices.ContainsFunc(
					q.torrents, func(o *simTorrent) bool { return slices.Contains(o.Tags, tag) },
				)
			})
		}

		return nil
	})
}

// SetFreeSpace sets the free space on the disk in bytes. With 0 every download fails. With -1 the program does not know
// it, as in the first half minute after its start.
func (q *QBittorrent) SetFreeSpace(n int64) error {
	return q.steer(func() error {
		q.options.FreeSpace = n
		return nil
	})
}

// qbKept is the state that survives a restart.
type qbKept struct {
	Clock      time.Duration   `json:"clock"`
	Torrents   []*simTorrent   `json:"torrents"`
	Tags       []string        `json:"tags"`
	Categories map[string]bool `json:"categories"`
}

func (q *QBittorrent) file() string { return filepath.Join(q.options.Dir, "torrents.json") }

// save writes the state atomically; q.mu must be held.
func (q *QBittorrent) save() error {
	if q.options.Dir == "" {
		return nil
	}

	data, err := json.Marshal(qbKept{q.clock, q.torrents, q.tags, q.category})
	if err != nil {
		return err
	}
	if err := os.WriteFile(q.file()+".new", data, 0o644); err != nil {
		return err
	}

	return os.Rename(q.file()+".new", q.file())
}

func (q *QBittorrent) load() error {
	data, err := os.ReadFile(q.file())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	var kept qbKept
	if err := json.Unmarshal(data, &kept); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(q.file()), err)
	}

	q.clock, q.torrents, q.tags = kept.Clock, kept.Torrents, kept.Tags
	maps.Copy(q.category, kept.Categories)
	for _, t := range q.torrents {
		q.begin(t)
	}
	return nil
}

// addRoutes adds the control routes.
func (q *QBittorrent) addRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /_/torrents", func(w http.ResponseWriter, _ *http.Request) {
		sim.WriteJSON(w, http.StatusOK, map[string]any{"items": q.Torrents(), "tags": q.Tags()})
	})
	mux.HandleFunc("POST /_/torrents", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Items []Torrent `json:"items"`
		}
		if sim.ReadControl(w, r, &in) {
			sim.AnswerControl(w, q.Put(in.Items...))
		}
	})
}
