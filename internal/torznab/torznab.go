// Package torznab searches for releases at Prowlarr and Jackett. Both speak Torznab: one GET that answers RSS.
//
// Each server has a key, which stays here: what is returned, errors included, never contains it. A link to the server's
// own .torrent file is returned without the key and with a seal; Keys verifies the seal and restores the key when the
// file is fetched from that server.
package torznab

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/sync/singleflight"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

const (
	maxAnswer  = 8 << 20 // bytes per answer: 500 results with long descriptions take less than a tenth
	maxAnswers = 100     // cached answers of indexers, for equal searches soon after
	answerAge  = time.Minute
	patience   = 5 * time.Second // waiting for a turn at a busy indexer
	// MaxFound is how many releases a search returns.
	MaxFound = 50
	// MaxWords is the longest search, in characters.
	MaxWords = 200
)

// Categories of releases, by the kind of medium. 7000 are books, 7020 e-books, and 3030 audiobooks.
var categories = map[string]string{"text": "7000,7020", "audio": "3030"}

// Indexer is an address that speaks Torznab: one indexer of a Prowlarr or Jackett, or all of them together.
type Indexer struct {
	URL string // with or without "/api" at its end
	Key string
}

// address is the indexer's address with "/api" at its end.
func (i Indexer) address() string {
	return strings.TrimSuffix(strings.TrimRight(i.URL, "/"), "/api") + "/api"
}

// Name is the indexer's name for people.
func (i Indexer) Name() string {
	_, rest, _ := strings.Cut(strings.TrimSuffix(i.address(), "/api"), "://")
	return rest
}

// Options are the settings of a client.
type Options struct {
	Indexers []Indexer
	Timeout  time.Duration // for each answer; default 15 s
}

// Client queries all indexers at once. It is safe for concurrent use.
type Client struct {
	peers   []*peer
	secrets secrets
	http    outbound.Client
	flight  singleflight.Group // equal concurrent searches query an indexer once
	answers *expirable.LRU[string, []Release]
}

// New makes a client.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Second
	}
	c := &Client{http: outbound.Client{
		HTTP: &http.Client{
			Transport: outbound.NewTransport(o.Timeout), CheckRedirect: outbound.RefuseRedirects,
		},
		Timeout: o.Timeout, MaxAnswer: maxAnswer,
	}, answers: expirable.NewLRU[string, []Release](maxAnswers, nil, answerAge)}
	for _, i := range o.Indexers {
		c.peers = append(c.peers, newPeer(i))
		if i.Key != "" {
			c.secrets = append(c.secrets, i.Key, url.QueryEscape(i.Key), url.PathEscape(i.Key))
		}
	}
	return c
}

// Release is one result of a search.
type Release struct {
	Title     string
	Indexer   string
	SourceURL string // a magnet link, or the address of a .torrent file without the indexer's key
	Size      int64  // bytes; 0: unknown
	Seeders   *int   // nil: unknown
	Infohash  string // in lower-case hex; empty: unknown
	Published time.Time
}

// Failure is an indexer without results.
type Failure struct {
	Indexer string
	Code    fault.Code // SOURCE_UNAVAILABLE: it did not answer, or not now; SOURCE_REFUSED: it refused the search
}

// Found is the indexers' answers.
type Found struct {
	Releases []Release // by seeders, descending
	Failed   []Failure
}

// Search queries all indexers for releases of a kind of medium, text or audio. An indexer that fails is listed beside
// the others' results. Only letters and digits of the words are searched for; an indexer that has nothing is queried
// again without a subtitle.
func (c *Client) Search(ctx context.Context, words, medium string) Found {
	queries := plain(words)
	answers := make([][]Release, len(c.peers))
	errs := make([]error, len(c.peers))
	var asking sync.WaitGroup
	for i, p := range c.peers {
		asking.Go(func() {
			for _, query := range queries {
				if answers[i], errs[i] = c.shared(ctx, p, query, medium); len(answers[i]) > 0 || errs[i] != nil {
					return
				}
			}
		})
	}
	asking.Wait()

	var found Found
	var all []Release
	for i, p := range c.peers {
		if errs[i] != nil {
			found.Failed = append(found.Failed, Failure{Indexer: p.Name(), Code: fault.CodeOf(errs[i])})
		}
		all = append(all, answers[i]...)
	}

	found.Releases = best(all)
	return found
}

var (
	apostrophe = regexp.MustCompile("['`´‘’ʼ＇]")
	noWord     = regexp.MustCompile(`[^\p{L}\p{M}\p{N}]+`)
	subtitle   = regexp.MustCompile(`\([^)]*\)?|\[[^\]]*\]?|\{[^}]*\}?|[:：].*`)
)

// plain returns the queries: indexers treat punctuation as words, or as operators.
func plain(text string) (queries []string) {
	text = apostrophe.ReplaceAllString(text, "")
	for _, part := range []string{text, subtitle.ReplaceAllString(text, " ")} {
		if part = strings.TrimSpace(noWord.ReplaceAllString(part, " ")); part != "" && !slices.Contains(queries, part) {
			queries = append(queries, part)
		}
	}
	if queries == nil {
		queries = []string{text}
	}
	return queries
}

// shared is one search for all callers with the same query at the same time, or soon after.
func (c *Client) shared(ctx context.Context, p *peer, words, medium string) ([]Release, error) {
	key := strings.Join([]string{p.URL, medium, words}, "\n")
	if releases, known := c.answers.Get(key); known {
		return releases, nil
	}

	answer := c.flight.DoChan(key, func() (any, error) {
		releases, err := c.search(context.WithoutCancel(ctx), p, words, medium) // its first caller may leave
		if err == nil {
			c.answers.Add(key, releases)
		}
		return releases, err
	})
	select {
	case <-ctx.Done():
		return nil, errAway
	case got := <-answer:
		releases, _ := got.Val.([]Release)
		return releases, got.Err
	}
}

// search queries one indexer, unless it is known not to answer.
func (c *Client) search(ctx context.Context, p *peer, words, medium string) (releases []Release, err error) {
	if !p.begin() {
		return nil, errAway
	}
	defer func() { p.end(fault.As(err)) }()

	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if p.rate.Wait(soon) != nil {
		return nil, errRate
	}

	answer, err := c.ask(ctx, p.Indexer, "rss", url.Values{"t": {"search"}, "q": {words}, "cat": {categories[medium]}}, func(found item) {
		r := c.release(found, p.Indexer)
		if r.Title == "" || r.SourceURL == "" {
			return
		}
		if releases = append(releases, r); len(releases) >= 10*MaxFound { // the best may come last
			releases = best(releases)
		}
	})
	releases = best(releases)
	for i := range releases {
		releases[i].Indexer = cmp.Or(releases[i].Indexer, c.line(answer.Channel, maxName), p.Name())
	}
	return releases, err
}

// Check queries an indexer's capabilities, and returns its program's name.
func (c *Client) Check(ctx context.Context, i Indexer) (program string, err error) {
	answer, err := c.ask(ctx, i, "caps", url.Values{"t": {"caps"}}, func(item) {})
	return c.line(answer.Program, maxName), err
}

// ask makes one request, whose answer must begin with an element of this name, and calls each with its releases. Its
// error contains neither the address nor a text of the indexer.
func (c *Client) ask(
	ctx context.Context, i Indexer, element string, query url.Values, each func(item),
) (none document, err error) {
	query.Set("apikey", i.Key)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.address()+"?"+query.Encode(), nil)
	if err != nil {
		return none, fault.New(fault.SourceRefused, "the address of the indexer cannot be used")
	}

	request.Header.Set("User-Agent", "stagecoach")
	answer, err := c.http.Do(ctx, query.Get("t"), request)
	switch {
	case err == outbound.ErrTooLong:
		return none, fault.New(fault.SourceRefused, "the answer of the indexer is too long")
	case err != nil:
		return none, errAway
	case answer.Status == http.StatusOK:
		return read(answer.Body, element, each)
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden:
		return none, errKey
	case answer.Status == http.StatusTooManyRequests:
		if pause := outbound.RetryAfter(answer.Header); pause > 0 {
			return none, errBusy.After(pause)
		}
		return none, errBusy
	case answer.Status == http.StatusRequestTimeout, answer.Status >= 500:
		return none, fault.New(fault.SourceUnavailable, "the indexer answered %d", answer.Status).
			After(outbound.RetryAfter(answer.Header))
	default: // such as the redirect to a sign-in page
		return none, fault.New(fault.SourceRefused, "the indexer answered %d", answer.Status)
	}
}

// errKey is the error of an indexer that rejects its key.
var errKey = fault.New(fault.SourceRefused, "the indexer rejected its API key")

// The errors of an indexer that should not be queried for a while. One that fails otherwise costs no time, and may fail
// only for one user's words.
var (
	errAway = fault.New(fault.SourceUnavailable, "the indexer did not answer").Retry()
	errBusy = fault.New(fault.SourceUnavailable, "the indexer accepts no more requests now").Retry()
)

// errRate is the error of an indexer that too many callers here query.
var errRate = fault.New(fault.SourceUnavailable, "the rate limit of the indexer is reached").Retry()

// RefusesKey reports whether an indexer has rejected its key.
func RefusesKey(err error) bool { return fault.As(err) == errKey }
