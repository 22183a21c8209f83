// Package yandex is a client for the part of the Yandex Disk REST API that deliveries need: list a folder, stat a file,
// read a file. It sees one shared folder and nothing outside it. It never retries, because Temporal counts the
// attempts; the one exception is a rejected access token, which is renewed once. It logs nothing, and its errors
// contain no link, token, name or path. A cancelled call returns context.Canceled; every other failure is a
// *fault.Error.
package yandex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

const (
	maxAnswer    = 32 << 20 // bytes per REST answer; a page of 1000 items takes about half a MiB
	maxPage      = 1000     // items of one List
	maxRedirects = 5
	itemFields   = "name,type,size,sha256,modified"
)

// listFields are the fields that List requests: without them every item includes its links, previews and share
// settings.
var listFields = "type,_embedded.total,_embedded.items." + strings.ReplaceAll(itemFields, ",", ",_embedded.items.")

// Options configure a Client.
type Options struct {
	APIURL         string        // base address of the API; default https://cloud-api.yandex.net
	Root           string        // the shared folder, e.g. "disk:/Shared"; "disk:/" shares the complete disk; required
	Tokens         Tokens        // the source of access tokens
	ConnectTimeout time.Duration // for the TCP and again for the TLS handshake; default 5 s
	CallTimeout    time.Duration // for one REST call including its body, and for the headers of a download; default 30 s

	// Operations are "list", "stat", "disk", "link" (to get a download link) and "open" (until the headers of the file's
	// own answer, which is not an API call).
	outbound.Observer
}

// Client reads one shared folder. It is safe for concurrent use.
type Client struct {
	o     Options
	api   outbound.Client // its requests carry the token
	files *http.Client    // its requests do not
}

// New makes a Client; it does not connect yet.
func New(o Options) *Client {
	o.APIURL = strings.TrimRight(cmp.Or(o.APIURL, "https://cloud-api.yandex.net"), "/")
	if strings.HasPrefix(o.Root, "/") {
		o.Root = "disk:" + o.Root
	}

	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 5*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 30*time.Second)
	transport := outbound.NewTransport(o.ConnectTimeout)
	transport.ResponseHeaderTimeout = o.CallTimeout
	transport.ReadBufferSize = 256 << 10 // files are large; the default of 4 KiB costs a system call each

	return &Client{
		o: o,
		api: outbound.Client{
			HTTP:    &http.Client{Transport: transport, CheckRedirect: outbound.RefuseRedirects},
			Timeout: o.CallTimeout, MaxAnswer: maxAnswer, Observer: o.Observer,
		},
		files: &http.Client{Transport: transport, CheckRedirect: boundRedirects},
	}
}

// boundRedirects follows a download link's redirects up to a limit: its request has no token.
func boundRedirects(_ *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects { // via includes the first request
		return errTooManyRedirects
	}
	return nil
}

// Item is a file or a folder below the root.
type Item struct {
	Path     string // relative to the root, e.g. "/films/a.mkv"
	Name     string
	Folder   bool
	Size     int64 // bytes; 0 for a folder
	SHA256   string
	Modified time.Time
}

// Page is one page of a folder's listing.
type Page struct {
	Items  []Item
	Total  int // items in the complete folder
	Offset int // number of items before this page
}

// resource is the wire form of an item, with its children if it is a listed folder.
type resource struct {
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Size     int64     `json:"size"`
	SHA256   string    `json:"sha256"`
	Modified time.Time `json:"modified"`
	Embedded struct {
		Items []resource `json:"items"`
		Total int        `json:"total"`
	} `json:"_embedded"`
}

func (r resource) item(path string) Item {
	return Item{
		Path: path, Name: r.Name, Folder: r.Type == "dir", Size: r.Size, SHA256: r.SHA256, Modified: r.Modified,
	}
}

// List returns a page of a folder in the upstream order by name. A limit outside 1..1000 means 1000 items. If the path
// is a file the error is FileNotFound.
func (c *Client) List(ctx context.Context, path string, limit, offset int) (Page, error) {
	if limit < 1 || limit > maxPage {
		limit = maxPage
	}

	offset = max(0, offset)
	var folder resource
	err := c.rest(ctx, "list", "/v1/disk/resources", path, url.Values{
		"fields": {listFields}, "sort": {"name"}, "limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)},
	}, &folder)
	if err != nil {
		return Page{}, err
	}
	if folder.Type == "file" {
		return Page{}, fault.New(fault.FileNotFound, "this is a file, not a folder")
	}

	page := Page{Items: make([]Item, len(folder.Embedded.Items)), Total: folder.Embedded.Total, Offset: offset}
	for i, r := range folder.Embedded.Items {
		// The path is made from the name: the upstream one contains the root, in its own spelling.
		page.Items[i] = r.item(strings.TrimRight(path, "/") + "/" + r.Name)
	}
	return page, nil
}

// Stat describes one file or folder.
func (c *Client) Stat(ctx context.Context, path string) (Item, error) {
	var r resource
	query := url.Values{"fields": {itemFields}, "limit": {"1"}}
	if err := c.rest(ctx, "stat", "/v1/disk/resources", path, query, &r); err != nil {
		return Item{}, err
	}
	return r.item(path), nil
}

// Download is an open file. Errors of Body are faults as well.
type Download struct {
	Body io.ReadCloser
	Size int64 // bytes of the complete file, whatever the offset; -1 if unknown
}

// Open starts reading a file at an offset in bytes. It requests a new link each time, because a link is valid for a
// short time and opens the file to anyone. Only ctx bounds the reading: the caller detects a stalled stream. If the
// file cannot be resumed at offset the fault's cause is ErrNoResume.
func (c *Client) Open(ctx context.Context, path string, offset int64) (*Download, error) {
	var link struct {
		Href string `json:"href"`
	}
	if err := c.rest(ctx, "link", "/v1/disk/resources/download", path, url.Values{}, &link); err != nil {
		return nil, err
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link.Href, nil)
	if err != nil || req.URL.Host == "" {
		return nil, protocolFault().WithCause(errors.New("the download link is not an address"))
	}

	req.Header.Set("Accept-Encoding", "identity") // unchanged bytes, so that sizes and offsets are right
	if offset > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
	}

	began := time.Now()
	resp, err := c.files.Do(req)
	c.o.Took(ctx, "open", began)
	if err != nil {
		return nil, transportFault(ctx, err)
	}

	download := &Download{Body: &body{ctx, resp.Body}, Size: resp.ContentLength}
	if offset > 0 {
		download.Size, err = resumed(resp, offset)
	} else if resp.StatusCode != http.StatusOK {
		err = linkFault(resp)
	}

	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return download, nil
}

// resumed checks that an answer continues the file at offset and returns the complete file's size, -1 if unknown.
func resumed(resp *http.Response, offset int64) (int64, error) {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		var first, last int64
		var size string
		_, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%s", &first, &last, &size)
		if err != nil || first != offset || last < first {
			return 0, protocolFault().WithCause(ErrNoResume)
		}
		if size == "*" {
			return -1, nil
		}
		// The rest of the file was requested: a range that ends earlier would be taken for a complete file.
		if total, err := strconv.ParseInt(size, 10, 64); err == nil && total == last+1 {
			return total, nil
		}

		return 0, protocolFault().WithCause(ErrNoResume)
	case http.StatusOK, http.StatusRequestedRangeNotSatisfiable:
		return 0, protocolFault().WithCause(ErrNoResume)
	}

	return 0, linkFault(resp)
}

// linkFault explains why a download link returned no file. A rejected or missing link has expired, which proves nothing
// about the file: the next attempt gets a new link.
func linkFault(resp *http.Response) *fault.Error {
	f := statusFault(outbound.Answer{Status: resp.StatusCode, Header: resp.Header})
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return fault.New(fault.YandexUnavailable, "the download link has expired").Retry().WithCause(f.Cause)
	}
	return f
}

// body converts errors of a download into faults.
type body struct {
	ctx context.Context
	io.ReadCloser
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = transportFault(b.ctx, err)
	}
	return n, err
}

// rest makes one REST call about path; a rejected access token is renewed once.
func (c *Client) rest(ctx context.Context, op, endpoint, path string, query url.Values, into any) error {
	address, err := c.address(endpoint, path, query)
	if err != nil {
		return err
	}

	var refused string
	for range 2 {
		var token string
		if token, err = c.o.Tokens.AccessToken(ctx, refused); err != nil {
			return err
		}
		if err = c.call(ctx, op, address, token, into); fault.CodeOf(err) != fault.YandexUnauthorized {
			return err
		}
		refused = token
	}

	return err
}

// address makes the address of a REST call about path.
func (c *Client) address(endpoint, path string, query url.Values) (string, error) {
	full, err := resolve(c.o.Root, path)
	if err != nil {
		return "", err
	}
	query.Set("path", full)
	return c.o.APIURL + endpoint + "?" + query.Encode(), nil
}

func (c *Client) call(ctx context.Context, op, address, token string, into any) (err error) {
	defer func() { c.o.Ended(ctx, err) }()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return protocolFault().WithCause(scrub(err))
	}

	req.Header.Set("Authorization", "OAuth "+token)
	answer, err := c.api.Do(ctx, op, req)
	switch {
	case answer.Status != 0 && answer.Status != http.StatusOK:
		return statusFault(answer)
	case errors.Is(err, outbound.ErrTooLong):
		return protocolFault().WithCause(err)
	case err != nil:
		return transportFault(ctx, err)
	}

	if err := json.Unmarshal(answer.Body, into); err != nil {
		return protocolFault().WithCause(scrub(err))
	}
	return nil
}

// resolve joins a path to the root. It refuses a path that might leave the root, rather than cleaning it.
func resolve(root, path string) (string, error) {
	root = strings.TrimRight(root, "/")
	ok := root != "" && strings.HasPrefix(path, "/") && utf8.ValidString(path) && !strings.ContainsRune(path, 0)
	if ok && path == "/" {
		if strings.HasSuffix(root, ":") {
			root += "/"
		}
		return root, nil
	}

	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		switch segment {
		case "", ".", "..", "disk:":
			ok = false
		}
	}

	if !ok {
		return "", fault.New(fault.Validation, "this is not a path in the shared folder").WithField("path")
	}
	return root + path, nil
}
