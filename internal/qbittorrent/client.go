// Package qbittorrent is a client of qBittorrent that works only on the service's own two categories, active and done.
// It never retries on its own, because Temporal counts the attempts; the one exception is a session that qBittorrent
// has forgotten, which is renewed once. Its errors contain no link, name or path. A call cancelled by its caller
// returns context.Canceled, every other failure is a *fault.Error: PROVIDER_UNAVAILABLE, PROVIDER_UNAUTHORIZED (both
// retryable) or PROVIDER_REJECTED.
package qbittorrent

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	qbt "github.com/autobrr/go-qbittorrent"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
	"stagecoach/internal/torrent"
)

// Options say where qBittorrent is, and which categories are ours.
type Options struct {
	URL                string        // base address of its Web API
	Username, Password string        // both empty: qBittorrent accepts this address without them
	APIKey             string        // instead of them; since version 5.2
	Timeout            time.Duration // for one request; default 10 s
	ActiveCategory     string        // of torrents awaited by jobs; required
	DoneCategory       string        // of torrents whose jobs have ended; required
	Media              []string      // with a category for completed torrents: done category, hyphen, medium

	outbound.Observer // operations are the last part of a request's path: "info", "add", "login" …
}

// Client talks to one qBittorrent. It is safe for concurrent use.
type Client struct {
	o    Options
	qbt  *qbt.Client
	wire *wire

	resume sync.Mutex // the library probes the API's version without one
	space  freeSpace
}

// New makes a Client; it does not connect yet.
func New(o Options) *Client {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	transport := outbound.NewTransport(o.Timeout)
	transport.ResponseHeaderTimeout, transport.ReadBufferSize = o.Timeout, 64<<10
	free := make(chan struct{}, 1)
	free <- struct{}{}
	w := &wire{
		Observer: o.Observer, next: transport, login: &login{turn: free, now: time.Now}, hasKey: o.APIKey != "",
	}
	client := qbt.NewClient(qbt.Config{
		Host: o.URL, Username: o.Username, Password: o.Password, APIKey: o.APIKey, RetryAttempts: 1,
	}).WithHTTPClient(&http.Client{
		CheckRedirect: outbound.RefuseRedirects, Transport: w,
		Timeout: 3 * o.Timeout, // a list of 10,000 torrents takes long
	})
	return &Client{o: o, qbt: client, wire: w}
}

// Torrent is one torrent as qBittorrent shows it. Sizes are bytes, speeds bytes per second.
type Torrent struct {
	ID          string // qBittorrent's own; it may change until the metadata is there
	V1, V2      string // infohashes in lower-case hex, as far as known
	Tags        []string
	Category    string
	State       State
	Shown       string // the state by qBittorrent's name
	Progress    float64
	Size        int64
	Left        int64 // remaining to download
	Speed       int64
	ETA         *int64 // seconds; nil: unknown
	ContentPath string
	SavePath    string  // where its files' paths begin
	Ratio       float64 // shared to downloaded
	Seeded      time.Duration
}

// Stopped reports whether an incomplete torrent is stopped: by this service, by a person, or by a rule in qBittorrent.
func (t Torrent) Stopped() bool {
	return t.Shown == string(qbt.TorrentStatePausedDl) || t.Shown == string(qbt.TorrentStateStoppedDl)
}

// HasTag reports whether the torrent has a tag.
func (t Torrent) HasTag(tag string) bool { return slices.Contains(t.Tags, tag) }

// unknownETA is qBittorrent's value for unknown.
const unknownETA = 8640000

func torrentOf(t qbt.Torrent) Torrent {
	torrent := Torrent{
		ID: t.Hash, V1: strings.ToLower(t.InfohashV1), V2: strings.ToLower(t.InfohashV2), Category: t.Category,
		State: stateOf(t), Shown: string(t.State), Progress: t.Progress, Size: max(t.Size, 0), Left: max(t.AmountLeft, 0), Speed: max(t.DlSpeed, 0),
		ContentPath: t.ContentPath, SavePath: t.SavePath, Ratio: t.Ratio, Seeded: time.Duration(t.SeedingTime) * time.Second,
	}

	for tag := range strings.SplitSeq(t.Tags, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			torrent.Tags = append(torrent.Tags, tag)
		}
	}

	if t.ETA >= 0 && t.ETA < unknownETA {
		torrent.ETA = &t.ETA
	}
	return torrent
}

// List returns all torrents in the active category, in one request.
func (c *Client) List(ctx context.Context) ([]Torrent, error) {
	return c.category(ctx, c.o.ActiveCategory)
}

// ListDone returns the completed torrents of a medium, in one request.
func (c *Client) ListDone(ctx context.Context, medium string) ([]Torrent, error) {
	return c.category(ctx, c.doneCategory(medium))
}

func (c *Client) doneCategory(medium string) string {
	return strings.TrimSuffix(c.o.DoneCategory+"-"+medium, "-")
}

// categories are all of ours.
func (c *Client) categories() []string {
	all := []string{c.o.ActiveCategory, c.o.DoneCategory}
	for _, medium := range c.o.Media {
		all = append(all, c.doneCategory(medium))
	}
	return all
}

// File is a file of a torrent.
type File struct {
	Path string // relative to the torrent's save path, with slashes
	Size int64
}

// Files returns a torrent's wanted files. TORRENT_TOO_LARGE: it has more than is allowed in a torrent, or their list
// exceeds the maximum length of an answer.
func (c *Client) Files(ctx context.Context, t Torrent) (files []File, err error) {
	endless := false
	listed, err := ask(ctx, c, func(ctx context.Context) (*qbt.TorrentFiles, error) {
		listed, err := c.qbt.GetFilesInformationCtx(ctx, t.ID)
		walk(err, func(e error) { endless = endless || e == outbound.ErrTooLong })
		return listed, err
	})
	switch {
	case endless:
		return nil, torrent.TooLarge()
	case err != nil:
		return nil, err
	case len(*listed) > torrent.MaxFiles:
		return nil, torrent.TooLarge()
	}

	for _, file := range *listed {
		name := file.Name
		if windows.MatchString(t.SavePath) {
			name = strings.ReplaceAll(name, `\`, "/")
		}
		if file.Priority > 0 {
			files = append(files, File{name, file.Size})
		}
	}
	return files, nil
}

func (c *Client) category(ctx context.Context, name string) ([]Torrent, error) {
	return c.torrents(ctx, qbt.TorrentFilterOptions{Category: name}, func(t Torrent) bool { return t.Category == name })
}

// Tags returns all of qBittorrent's tags, including those without torrents.
func (c *Client) Tags(ctx context.Context) ([]string, error) { return ask(ctx, c, c.qbt.GetTagsCtx) }

// torrents queries torrents and filters the answer again, because qBittorrent ignores parts of a filter unknown to its
// version.
func (c *Client) torrents(
	ctx context.Context, filter qbt.TorrentFilterOptions, meant func(Torrent) bool,
) (found []Torrent, err error) {
	listed, err := ask(ctx, c, func(ctx context.Context) ([]qbt.Torrent, error) {
		return c.qbt.GetTorrentsCtx(ctx, filter)
	})

	for _, t := range listed {
		if torrent := torrentOf(t); meant(torrent) {
			found = append(found, torrent)
		}
	}
	return found, err
}

// Find finds a job's torrent: among ours by the job's tag, otherwise by infohash (either may be empty) if qBittorrent
// stores it under one of them. nil: it is not there.
func (c *Client) Find(ctx context.Context, tag, v1, v2 string) (*Torrent, error) {
	tagged, err := c.torrents(
		ctx, qbt.TorrentFilterOptions{Tag: tag}, func(t Torrent) bool { return t.HasTag(tag) && c.Ours(t) },
	)
	if err != nil || len(tagged) > 0 {
		return first(tagged), err
	}
	return c.byID(ctx, v1, v2)
}

// FindContent finds a torrent with an infohash, under any id: a hybrid torrent known by its other hash is found in our
// categories only. nil: it is not there.
func (c *Client) FindContent(ctx context.Context, v1, v2 string) (*Torrent, error) {
	found, err := c.byID(ctx, v1, v2)
	if found != nil || err != nil {
		return found, err
	}

	for _, category := range c.categories() {
		listed, err := c.torrents(
			ctx, qbt.TorrentFilterOptions{Category: category}, func(t Torrent) bool { return t.is(v1, v2) },
		)
		if err != nil || len(listed) > 0 {
			return first(listed), err
		}
	}

	return nil, nil
}

func (c *Client) byID(ctx context.Context, v1, v2 string) (*Torrent, error) {
	var ids []string
	if v2 != "" {
		ids = append(ids, v2[:idLength])
	}

	if v1 != "" {
		ids = append(ids, v1)
	}

	if len(ids) == 0 { // no ids would mean all torrents
		return nil, nil
	}

	found, err := c.torrents(
		ctx, qbt.TorrentFilterOptions{Hashes: ids}, func(t Torrent) bool { return slices.Contains(ids, t.ID) },
	)
	return first(found), err
}

// idLength is how much of a SHA-256 qBittorrent uses as an id, in hex digits.
const idLength = 40

func (t Torrent) is(v1, v2 string) bool {
	return v1 != "" && t.V1 == v1 || v2 != "" && t.V2 == v2
}

func first(torrents []Torrent) *Torrent {
	if len(torrents) == 0 {
		return nil
	}
	return &torrents[0]
}

// Ours reports whether a torrent is in one of our categories: other torrents are never changed.
func (c *Client) Ours(t Torrent) bool {
	return slices.Contains(c.categories(), t.Category)
}

// Active reports whether a torrent is in the category of those awaited by jobs.
func (c *Client) Active(t Torrent) bool { return t.Category == c.o.ActiveCategory }

// Sessions counts this client's logins. qBittorrent forgets sessions when it restarts.
func (c *Client) Sessions() int64 { return c.wire.login.admitted.Load() }

// call makes one request. If it fails because qBittorrent forgot the session, call retries it once in a new one.
func (c *Client) call(ctx context.Context, request func() error) error {
	sessions, forgotten := c.Sessions(), c.wire.forgotten.Load()
	err := request()
	if err != nil && ctx.Err() == nil && c.wire.forgotten.Load() != forgotten && c.Sessions() != sessions {
		err = request()
	}
	err = asFault(ctx, err)
	c.o.Ended(ctx, err)
	return err
}

// ask makes one request that has an answer.
func ask[T any](ctx context.Context, c *Client, request func(context.Context) (T, error)) (answer T, err error) {
	err = c.call(ctx, func() (err error) {
		answer, err = request(ctx)
		return err
	})
	return answer, err
}

// foreign is the refusal to change a torrent that is not ours.
func foreign() error {
	return fault.New(fault.ProviderRejected, "qBittorrent already has this torrent, outside the service's categories")
}
