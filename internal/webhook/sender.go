package webhook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fetch"
	"stagecoach/internal/outbound"
)

const (
	maxAddress = 2000
	maxAnswer  = 64 << 10  // bytes of an answer that are read, so that its connection can be reused
	maxPause   = time.Hour // that a receiver may request
)

// Options are the limits of a Sender.
type Options struct {
	Timeout      time.Duration // for one request including its answer; default 10 s
	AllowPrivate bool          // also addresses outside the Internet, and http
}

// Sender sends messages to addresses supplied by users. Like a fetch.Fetcher it connects only to the Internet, whatever
// a name leads to. It follows no redirect. It is safe for concurrent use.
type Sender struct {
	o    Options
	http *http.Client
}

// NewSender makes a Sender.
func NewSender(o Options) *Sender {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	transport := fetch.Transport(o.Timeout, o.AllowPrivate)
	transport.IdleConnTimeout, transport.MaxIdleConnsPerHost = 30*time.Second, 2
	return &Sender{o: o, http: &http.Client{Transport: transport, CheckRedirect: outbound.RefuseRedirects}}
}

// Message is what is sent: the same id and body on every attempt.
type Message struct {
	ID   string
	Body []byte
}

// Send sends a message, signed with each of the secrets. Every failure but a cancelled context is a *fault.Error:
// WEBHOOK_GONE if the receiver wants no more, and others that a later attempt may resolve.
func (s *Sender) Send(ctx context.Context, address string, secrets []string, m Message) error {
	limited, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()

	request, err := http.NewRequestWithContext(limited, http.MethodPost, address, bytes.NewReader(m.Body))
	if err != nil {
		return fault.New(fault.WebhookForbidden, "the address cannot be used")
	}

	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "stagecoach")
	if err := sign(request.Header, secrets, m.ID, time.Now(), m.Body); err != nil {
		return err
	}

	response, err := s.http.Do(request)
	if err != nil {
		return asFault(ctx, err)
	}
	defer response.Body.Close()

	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	return check(response)
}

// check evaluates the receiver's answer.
func check(response *http.Response) error {
	switch code := response.StatusCode; {
	case code/100 == 2:
		return nil
	case code == http.StatusGone:
		return fault.New(fault.WebhookGone, "the receiver answered 410: it wants no more events")
	default:
		refused := fault.New(fault.WebhookRefused, "the receiver answered %d", code)
		return refused.After(min(outbound.RetryAfter(response.Header), maxPause))
	}
}

// asFault converts a failure into a fault without the address.
func asFault(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.Is(err, fetch.ErrForbidden):
		return fault.New(fault.WebhookForbidden, "the address is not on the Internet").Retry()
	case outbound.TimedOut(err):
		return fault.New(fault.WebhookTimeout, "the receiver did not answer in time").Retry()
	default:
		return fault.New(fault.WebhookUnreachable, "the receiver cannot be reached").Retry()
	}
}

// CheckAddress returns VALIDATION_ERROR for an address to which no message can be sent. What its name leads to is
// checked with each connection.
func (o Options) CheckAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case len(address) > maxAddress:
		return fault.Invalid("address", "must have at most %d bytes", maxAddress)
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return fault.Invalid("address", "must be an https address")
	case u.Scheme != "https" && (u.Scheme != "http" || !o.AllowPrivate):
		return fault.Invalid("address", "must be an https address")
	case u.User != nil:
		return fault.Invalid("address", "must have no user and no password: they would be sent with each event")
	case u.Fragment != "":
		return fault.Invalid("address", "must have no part after #")
	}

	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !o.AllowPrivate && !fetch.Public(ip) {
		return fault.Invalid("address", "must be on the Internet")
	}
	return nil
}

// Host returns an address's host: the part visible to people other than its owner.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
