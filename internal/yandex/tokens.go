package yandex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

const (
	exchangeTimeout = 30 * time.Second // for one request to the token endpoint
	renewTimeout    = 2 * time.Minute  // for waiting for the store's lock, the exchange and the save together
)

// Tokens is a source of access tokens.
type Tokens interface {
	// AccessToken returns a currently usable token. refused is a token that the API has just rejected, or empty: it is
	// renewed only while it is still the current one.
	AccessToken(ctx context.Context, refused string) (string, error)
}

// Store keeps the one token shared by all processes.
type Store interface {
	// UpdateToken runs fn under an exclusive lock on the stored token. fn gets the current token, zero if there is none,
	// and returns the one to save in the same transaction, nil to leave it; its error rolls everything back.
	UpdateToken(
		ctx context.Context, fn func(ctx context.Context, current oauth2.Token) (*oauth2.Token, error),
	) (oauth2.Token, error)
	// CurrentToken reads the stored token, zero if there is none.
	CurrentToken(ctx context.Context) (oauth2.Token, error)
}

// RotatingOptions configure a Rotating.
type RotatingOptions struct {
	TokenURL      string // default https://oauth.yandex.ru/token
	ClientID      string
	ClientSecret  string
	Store         Store         // also holds the first token; one without a refresh token is used as it is
	HTTP          *http.Client  // default: one that follows no redirect; each exchange is bounded to 30 s anyway
	RefreshBefore time.Duration // how long before its expiry a token is renewed; default 5 min

	// OnInvalid, when set, is called if only a person can help: the refresh token, or a token without one, was rejected.
	// It is called once per token and process, outside the store's lock.
	OnInvalid func(ctx context.Context)
}

// Rotating is a Tokens on an OAuth server that replaces the refresh token at every use. A process that lost the new
// token would lock out all processes. An exchange and its save are therefore never interrupted by a caller that leaves,
// and no token is used before it is saved.
type Rotating struct {
	o      RotatingOptions
	flight singleflight.Group // callers in one process wait for one renewal

	mu      sync.Mutex
	current oauth2.Token  // as last seen in the store
	spent   string        // the refresh token of the last exchange …
	bought  *oauth2.Token // … and its result, kept in case the save fails
	alerted string        // the token for which OnInvalid was last called
}

// NewRotating makes a Rotating; it sends no request yet.
func NewRotating(o RotatingOptions) *Rotating {
	o.TokenURL = cmp.Or(o.TokenURL, "https://oauth.yandex.ru/token")
	o.HTTP = cmp.Or(o.HTTP, &http.Client{CheckRedirect: outbound.RefuseRedirects})
	o.RefreshBefore = cmp.Or(o.RefreshBefore, 5*time.Minute)
	return &Rotating{o: o}
}

// AccessToken implements Tokens.
func (r *Rotating) AccessToken(ctx context.Context, refused string) (string, error) {
	r.mu.Lock()
	cached := r.current
	r.mu.Unlock()
	if usable(cached, refused, r.o.RefreshBefore) {
		return cached.AccessToken, nil
	}

	renewed := r.flight.DoChan(refused, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTimeout)
		defer cancel()
		return r.renew(ctx, refused)
	})

	select {
	case <-ctx.Done():
		return "", transportFault(ctx, ctx.Err())
	case result := <-renewed:
		if result.Err != nil {
			return "", result.Err
		}
		return result.Val.(string), nil
	}
}

// Expiry returns when the current access token expires: zero if there is none, or if it never expires.
func (r *Rotating) Expiry(ctx context.Context) (time.Time, error) {
	token, err := r.o.Store.CurrentToken(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the stored token: %w", err)
	}
	return token.Expiry, nil
}

// Renews reports whether the stored token can be renewed automatically.
func (r *Rotating) Renews(ctx context.Context) (bool, error) {
	token, err := r.o.Store.CurrentToken(ctx)
	return token.RefreshToken != "", err
}

// renew returns the stored token if another process has already renewed it, otherwise exchanges it.
func (r *Rotating) renew(ctx context.Context, refused string) (string, error) {
	var token oauth2.Token
	_, err := r.o.Store.UpdateToken(ctx, func(ctx context.Context, current oauth2.Token) (*oauth2.Token, error) {
		token = current
		unsaved := r.boughtWith(token.RefreshToken)
		if unsaved != nil {
			token = *unsaved
		}

		if usable(token, refused, r.o.RefreshBefore) {
			return unsaved, nil
		}
		if token.RefreshToken == "" {
			if token.AccessToken == "" || token.AccessToken == refused {
				return nil, fault.New(fault.YandexUnauthorized, "the file storage rejected our credentials")
			}
			return nil, nil // even if it expires soon: there is no other
		}

		next, err := r.exchange(ctx, token.RefreshToken)
		if err != nil {
			if f := fault.As(err); f != nil && f.Retryable && usable(token, refused, 0) {
				return unsaved, nil // it is valid for a few more minutes, and the trouble may end before
			}
			return nil, err
		}

		token = *next
		return next, nil
	})

	f := fault.As(err)
	switch {
	case err == nil:
		r.mu.Lock()
		r.current = token
		r.mu.Unlock()
		return token.AccessToken, nil
	case f == nil:
		return "", fmt.Errorf("update the stored token: %w", err)
	case f.Code == fault.YandexUnauthorized:
		r.alert(ctx, token)
	}

	return "", f
}

// exchange gets a new pair of tokens for a refresh token, which is invalid afterwards.
func (r *Rotating) exchange(ctx context.Context, refresh string) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()

	config := oauth2.Config{
		ClientID: r.o.ClientID, ClientSecret: r.o.ClientSecret,
		// Without a style, oauth2 would send the refresh token twice to find it out.
		Endpoint: oauth2.Endpoint{TokenURL: r.o.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
	}

	withHTTP := context.WithValue(ctx, oauth2.HTTPClient, r.o.HTTP)
	next, err := config.TokenSource(withHTTP, &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return nil, exchangeFault(ctx, err)
	}

	r.mu.Lock()
	r.spent, r.bought = refresh, next
	r.mu.Unlock()
	return next, nil
}

// exchangeFault explains a failed exchange without the answer's body, which may repeat a token.
func exchangeFault(ctx context.Context, err error) error {
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		switch refusal.ErrorCode {
		case "invalid_grant", "invalid_client", "unauthorized_client":
			return fault.New(fault.YandexUnauthorized, "the file storage rejected our credentials").
				WithCause(errors.New("token endpoint: " + refusal.ErrorCode))
		}
		f := statusFault(outbound.Answer{
			Status: refusal.Response.StatusCode, Header: refusal.Response.Header, Body: refusal.Body,
		})
		if f.Code == fault.FileNotFound {
			return protocolFault().WithCause(f.Cause)
		}
		return f
	}

	if _, ok := errors.AsType[*url.Error](err); ok {
		return transportFault(ctx, err)
	}
	// The answer was truncated or contained no token; oauth2 does not report which, so another attempt is allowed.
	return fault.New(fault.YandexUnavailable, "the file storage has failed").Retry().WithCause(scrub(err))
}

// boughtWith returns the result of an exchange whose save failed, if the store still has the refresh token that it
// used.
func (r *Rotating) boughtWith(refresh string) *oauth2.Token {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bought == nil || refresh != r.spent || r.bought.RefreshToken == r.spent {
		return nil
	}
	token := *r.bought
	return &token
}

func (r *Rotating) alert(ctx context.Context, token oauth2.Token) {
	dead := cmp.Or(token.RefreshToken, token.AccessToken, "none")
	r.mu.Lock()
	known := r.alerted == dead
	r.alerted = dead
	r.mu.Unlock()
	if !known && r.o.OnInvalid != nil {
		r.o.OnInvalid(ctx)
	}
}

// usable reports whether a token is valid for more than margin and is not the rejected one.
func usable(token oauth2.Token, refused string, margin time.Duration) bool {
	return token.AccessToken != "" && token.AccessToken != refused &&
		(token.Expiry.IsZero() || time.Until(token.Expiry) > margin)
}
