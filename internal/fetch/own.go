package fetch

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"
)

// ownKey is the key of a context that holds the host and port of the server of the operator's.
type ownKey struct{}

// withOwn lets the requests of a context reach the server with this origin, wherever it is.
func withOwn(ctx context.Context, origin string) context.Context {
	u, err := url.Parse(origin)
	if err != nil || origin == "" {
		return ctx
	}
	return context.WithValue(ctx, ownKey{}, u.Host)
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// orOwn dials the server that the context names without a check of its address, and all others, those of redirects too,
// with it.
func orOwn(checked dialFunc, timeout time.Duration) dialFunc {
	own := &net.Dialer{Timeout: timeout}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _ := ctx.Value(ownKey{}).(string); host != "" && strings.EqualFold(host, address) {
			return own.DialContext(ctx, network, address)
		}
		return checked(ctx, network, address)
	}
}
