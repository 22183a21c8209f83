// Package fetch downloads small files from addresses supplied by users. By default it connects only to the Internet. It
// checks the address of each connection, also after each redirect, so that a name that changes its address does not
// pass the check. Its errors contain no address. A call cancelled by its caller returns context.Canceled, every other
// failure is a *fault.Error.
package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"stagecoach/internal/fault"
)

// Options are the limits.
type Options struct {
	MaxSize      int64         // bytes; default 10 MiB
	Timeout      time.Duration // in total; default 30 s
	AllowPrivate bool          // also addresses outside the Internet
	// Complete completes an address at one of the operator's servers, and returns its host and port, such as
	// prowlarr:9696: only this server may be outside the Internet, for this address and no redirect. own empty: it is no
	// such address. nil: there is no such server.
	Complete func(address string) (full, own string)
}

// Fetcher downloads files. It is safe for concurrent use.
type Fetcher struct {
	o      Options
	http   *http.Client
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const maxRedirects = 5

// ErrForbidden is the error of a connection to an address that is not on the Internet.
var ErrForbidden = errors.New("this address is not on the Internet")

// ToMagnet is the error of an address that leads to a magnet link instead of a file.
type ToMagnet struct{ Link string }

// Error does not reveal the link.
func (ToMagnet) Error() string { return "the address leads to a magnet link" }

// Reasons why a redirect is not followed.
var (
	errScheme    = errors.New("redirected to something other than http")
	errRedirects = errors.New("too many redirects")
)

// New makes a Fetcher.
func New(o Options) *Fetcher { return newFetcher(o, allowed(o.AllowPrivate)) }

// allowed returns the check of which addresses may be connected to.
func allowed(private bool) func(netip.Addr) bool {
	if private {
		return func(netip.Addr) bool { return true }
	}
	return Public
}

// Transport makes the transport of a client that sends requests to addresses supplied by users. A connection to a
// forbidden address fails with ErrForbidden.
func Transport(timeout time.Duration, allowPrivate bool) *http.Transport {
	return guarded(timeout, allowed(allowPrivate))
}

// guarded makes a transport without a proxy: a proxy would connect without checking the address.
func guarded(timeout time.Duration, allowed func(netip.Addr) bool) *http.Transport {
	dialer := &net.Dialer{Timeout: timeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !allowed(at.Addr()) {
			return ErrForbidden
		}
		return nil
	}}

	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: 64 << 10,
	}
}

func newFetcher(o Options, allowed func(netip.Addr) bool) *Fetcher {
	o.MaxSize = cmp.Or(o.MaxSize, 10<<20)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	transport := guarded(o.Timeout, allowed)
	transport.DisableKeepAlives = true
	transport.DialContext = orOwn(transport.DialContext, o.Timeout)

	return &Fetcher{o: o, lookup: net.DefaultResolver.LookupNetIP, http: &http.Client{
		Transport: transport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			r.Header.Del("Referer")                       // addresses contain keys
			*r = *r.WithContext(withOwn(r.Context(), "")) // Complete has not seen this one
			switch {
			case len(via) > maxRedirects:
				return errRedirects
			case r.URL.Scheme == "magnet":
				return ToMagnet{r.URL.String()}
			case r.URL.Scheme != "http" && r.URL.Scheme != "https":
				return errScheme
			default:
				return nil
			}
		},
	}}
}

// Fetch downloads the file at an http or https address. The error is a ToMagnet if the address leads to a magnet link.
func (f *Fetcher) Fetch(ctx context.Context, address string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()

	if f.o.Complete != nil {
		full, own := f.o.Complete(address)
		address, limited = full, withOwn(limited, own)
	}

	request, err := http.NewRequestWithContext(limited, http.MethodGet, address, nil)
	if err != nil {
		return nil, fault.New(fault.SourceRefused, "the address cannot be used")
	}

	request.Header.Set("User-Agent", "stagecoach")
	response, err := f.http.Do(request)
	if err != nil {
		return nil, asFault(ctx, err)
	}
	defer response.Body.Close()

	if err := f.check(response); err != nil {
		return nil, err
	}

	content, err := read(response.Body, f.o.MaxSize+1)
	if err != nil {
		return nil, asFault(ctx, err)
	}
	if int64(len(content)) > f.o.MaxSize {
		return nil, f.tooBig()
	}

	return content, nil
}

// piece is how much of a file is read at a time.
const piece = 256 << 10

// read reads up to most bytes. It uses at most twice the content's memory; a growing buffer would leave its smaller
// copies behind.
func read(body io.Reader, most int64) ([]byte, error) {
	var pieces [][]byte
	next := make([]byte, 0, piece)
	for body = io.LimitReader(body, most); ; {
		n, err := body.Read(next[len(next):cap(next)])
		next = next[:len(next)+n]

		switch {
		case err == io.EOF:
			return bytes.Join(append(pieces, next), nil), nil
		case err != nil:
			return nil, err
		case len(next) == cap(next):
			pieces, next = append(pieces, next), make([]byte, 0, piece)
		}
	}
}

// check checks an answer before its body is read.
func (f *Fetcher) check(response *http.Response) error {
	status := fault.New(fault.SourceRefused, "the source answered %d", response.StatusCode)
	switch code := response.StatusCode; {
	case code == http.StatusOK && response.ContentLength > f.o.MaxSize:
		return f.tooBig()
	case code == http.StatusOK:
		return nil
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		status.Code = fault.SourceUnavailable
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date is ignored
		return status.After(time.Duration(min(max(seconds, 0), maxPause)) * time.Second)
	default:
		return status
	}
}

// maxPause is the longest delay that a source may request, in seconds.
const maxPause = 10 * 60

func (f *Fetcher) tooBig() error {
	return fault.New(fault.SourceNotTorrent, "the file has more than %d bytes", f.o.MaxSize)
}

// asFault converts a failure into a fault.
func asFault(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	if magnet, leads := errors.AsType[ToMagnet](err); leads {
		return magnet
	}

	inner := harmless(err)
	switch {
	case errors.Is(err, ErrForbidden):
		return fault.New(fault.SourceForbidden, "the link leads to an address that is not on the Internet")
	case errors.Is(err, errScheme), errors.Is(err, errRedirects):
		return fault.New(fault.SourceRefused, "the link leads to no file").WithCause(inner)
	default:
		return fault.New(fault.SourceUnavailable, "the source did not answer").Retry().WithCause(inner)
	}
}

// harmless returns the loggable part of an error: the innermost error if its text is a constant, otherwise its type.
// The errors around it, and the other side's texts, contain addresses.
func harmless(err error) error {
	inner := err
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(next) {
		inner = next
	}

	if _, dns := errors.AsType[*net.DNSError](err); dns {
		return errors.New("the name cannot be looked up")
	}
	if _, system := inner.(syscall.Errno); system || slices.Contains(constant, inner) {
		return inner
	}

	return fmt.Errorf("a %T", inner)
}

var constant = []error{ErrForbidden, errScheme, errRedirects, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF}
