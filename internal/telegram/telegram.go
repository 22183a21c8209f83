// Package telegram builds the Bot API client shared by the worker and the bot: telego over net/http, uploads streamed
// with a known length, errors typed and free of the bot's token.
package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/mymmrac/telego"
	"github.com/mymmrac/telego/telegoapi"
	"golang.org/x/time/rate"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

const (
	defaultRate = 30       // Telegram allows a bot about this many requests per second over all chats
	maxAnswer   = 32 << 20 // bytes per answer; a hundred updates take about a MiB
)

// Options identify the bot and its server.
type Options struct {
	Token             string
	APIURL            string        // base URL of the (local) Bot API server
	ConnectTimeout    time.Duration // to open a connection
	RequestsPerSecond float64       // over all chats; 0: the 30 that Telegram allows
	outbound.Observer               // by method
}

// New makes the client. Each of its errors is either a *telegoapi.Error (the server answered) or a *fault.Error.
func New(o Options) (*telego.Bot, error) {
	perSecond := cmp.Or(o.RequestsPerSecond, defaultRate)
	dialer := &net.Dialer{Timeout: o.ConnectTimeout}
	transport := outbound.NewTransport(o.ConnectTimeout)
	transport.MaxIdleConnsPerHost, transport.WriteBufferSize = 32, copyBuffer
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}

		if tcp, ok := conn.(*net.TCPConn); ok {
			if err := tcp.SetWriteBuffer(sendBuffer); err != nil {
				_ = conn.Close() // the first error is reported
				return nil, err
			}
		}
		return wideConn{conn}, nil
	}

	bot, err := telego.NewBot(o.Token,
		telego.WithAPIServer(o.APIURL),
		telego.WithAPICaller(&caller{
			http:     &http.Client{CheckRedirect: outbound.RefuseRedirects, Transport: transport},
			limiter:  rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond))),
			Observer: o.Observer,
		}),
		telego.WithRequestConstructor(constructor{}),
		telego.WithDiscardLogger())
	if err != nil {
		return nil, errors.New("STAGECOACH_TELEGRAM_TOKEN is not a bot token")
	}

	return bot, nil
}

// caller makes one Bot API request.
type caller struct {
	outbound.Observer
	http    *http.Client
	limiter *rate.Limiter
}

// Call implements telegoapi.Caller.
func (c *caller) Call(ctx context.Context, address string, data *telegoapi.RequestData) (*telegoapi.Response, error) {
	response, err := c.call(ctx, address, data)
	result := err
	if err == nil && response.Error != nil {
		result = Classify(response.Error)
	}
	c.Ended(ctx, result)
	return response, err
}

func (c *caller) call(ctx context.Context, address string, data *telegoapi.RequestData) (*telegoapi.Response, error) {
	method := path.Base(address)
	if method != "getUpdates" {
		if err := c.limiter.Wait(ctx); err != nil {
			return nil, networkFault(err)
		}
		defer c.Took(ctx, method, time.Now())
	}

	body := data.BodyStream
	if data.BodyRaw != nil {
		body = bytes.NewReader(data.BodyRaw)
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return nil, fault.New(fault.TelegramRejected, "the Bot API's address cannot be used")
	}

	if sized, ok := body.(interface{ Size() int64 }); ok {
		request.ContentLength = sized.Size()
	}

	request.Header.Set("Content-Type", data.ContentType)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, networkFault(err)
	}
	defer response.Body.Close()

	answer, err := outbound.ReadAnswer(response.Body, maxAnswer)
	switch {
	case errors.Is(err, outbound.ErrTooLong): // Telegram's answers are never that long
		return nil, foreignAnswer(response.StatusCode)
	case err != nil:
		return nil, networkFault(err)
	}

	var parsed telegoapi.Response
	if err := json.Unmarshal(answer, &parsed); err != nil || !parsed.Ok && (parsed.Error == nil || parsed.ErrorCode == 0) {
		return nil, foreignAnswer(response.StatusCode)
	}
	return &parsed, nil
}

// networkFault converts a failure without an answer into a fault. The cause does not contain the URL, which has the
// token.
func networkFault(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if fault.As(err) != nil { // from the body being sent
		return err
	}
	if outbound.TimedOut(err) {
		return fault.New(fault.TelegramUnavailable, "Telegram did not answer in time").Retry().WithCause(err)
	}
	return fault.New(fault.TelegramUnavailable, "the connection to Telegram failed").Retry().WithCause(err)
}

// ErrNothingSent is the cause of a failure before the request was written.
var ErrNothingSent = errors.New("the request was not written")

// NothingSent reports whether the server cannot have received a failed request: no connection was made, or it was not
// written.
func NothingSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || errors.Is(err, ErrNothingSent)
}
