// Package torznab searches for releases at Prowlarr and Jackett. Both speak Torznab: one GET that answers RSS.
//
// Each server has a key, which stays here: what is returned, errors included, never contains it. A link to a .torrent
// file of the server itself is returned without the key, which Keys puts back when the file is fetched from that server.
package torznab

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

const (
	maxAnswer   = 8 << 20 // bytes of one answer: 500 results with long descriptions take less than a tenth
	maxReleases = 100     // that are read of one answer
	maxSearches = 8       // at a time: each may take the memory of one answer for each indexer
	// MaxFound is how many releases a search gives.
	MaxFound = 50
	// MaxWords is how many characters may be searched for.
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

// Name names the indexer for people.
func (i Indexer) Name() string {
	_, rest, _ := strings.Cut(strings.TrimSuffix(i.address(), "/api"), "://")
	return rest
}

// Options are the settings of a client.
type Options struct {
	Indexers []Indexer
	Timeout  time.Duration // for the answer of each; default 15 s
}

// Client asks all indexers at once. It is safe for concurrent use.
type Client struct {
	indexers []Indexer
	secrets  secrets
	http     outbound.Client
	places   chan struct{} // of searches
}

// New makes a client.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Second
	}
	return &Client{indexers: o.Indexers, secrets: secretsOf(o.Indexers), http: outbound.Client{
		HTTP: &http.Client{
			Transport: outbound.NewTransport(o.Timeout), CheckRedirect: outbound.RefuseRedirects,
		},
		Timeout: o.Timeout, MaxAnswer: maxAnswer,
	}, places: make(chan struct{}, maxSearches)}
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

// Failure is an indexer that gave no results.
type Failure struct {
	Indexer string
	Code    fault.Code // SOURCE_UNAVAILABLE: it did not answer, or not now; SOURCE_REFUSED: it refused the search
}

// Found is what the indexers have answered.
type Found struct {
	Releases []Release // those with most seeders first
	Failed   []Failure
}

// Search asks all indexers for releases of a kind of medium, text or audio. An indexer that fails is named beside the
// results of the others.
func (c *Client) Search(ctx context.Context, words, medium string) Found {
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done(): // then each indexer is not asked
	}

	answers := make([][]Release, len(c.indexers))
	errs := make([]error, len(c.indexers))
	var asking sync.WaitGroup
	for i, indexer := range c.indexers {
		asking.Go(func() { answers[i], errs[i] = c.search(ctx, indexer, words, medium) })
	}
	asking.Wait()

	var found Found
	var all []Release
	for i, indexer := range c.indexers {
		if errs[i] != nil {
			found.Failed = append(found.Failed, Failure{Indexer: indexer.Name(), Code: fault.CodeOf(errs[i])})
		}
		all = append(all, answers[i]...)
	}

	found.Releases = best(all)
	return found
}

// search asks one indexer.
func (c *Client) search(ctx context.Context, i Indexer, words, medium string) (releases []Release, err error) {
	answer, err := c.ask(ctx, i, "rss", url.Values{"t": {"search"}, "q": {words}, "cat": {categories[medium]}})
	for _, item := range answer.Items {
		r := c.release(item, cmp.Or(answer.Channel, i.Name()))
		if r.Title != "" && r.SourceURL != "" {
			releases = append(releases, r)
		}
	}
	return releases, err
}

// Check asks an indexer what it can do, and returns the name of its program.
func (c *Client) Check(ctx context.Context, i Indexer) (program string, err error) {
	answer, err := c.ask(ctx, i, "caps", url.Values{"t": {"caps"}})
	return c.line(answer.Server.Title, maxName), err
}

// ask makes one request, whose answer is to begin with an element of this name. Its error holds neither the address nor
// a text of the indexer.
func (c *Client) ask(ctx context.Context, i Indexer, element string, query url.Values) (none document, err error) {
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
		return none, fault.New(fault.SourceUnavailable, "the indexer does not answer").Retry()
	case answer.Status == http.StatusOK:
		return read(answer.Body, element)
	case answer.Status == http.StatusUnauthorized, answer.Status == http.StatusForbidden:
		return none, errKey
	case answer.Status == http.StatusTooManyRequests, answer.Status == http.StatusRequestTimeout, answer.Status >= 500:
		return none, fault.New(fault.SourceUnavailable, "the indexer answers %d", answer.Status).Retry()
	default: // such as the redirect to a page where one signs in
		return none, fault.New(fault.SourceRefused, "the indexer answers %d", answer.Status)
	}
}

// errKey is the error of an indexer that does not take its key.
var errKey = fault.New(fault.SourceRefused, "the indexer refuses its key")

// RefusesKey says whether an indexer has refused its key.
func RefusesKey(err error) bool { return fault.As(err) == errKey }
