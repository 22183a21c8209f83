package fetch

import (
	"context"
	"net"
	"strings"
	"time"
)

// ownKey is the context key for the host and port of the operator's server that the request may reach, wherever it is;
// an empty one is none.
type ownKey struct{}

func withOwn(ctx context.Context, own string) context.Context {
	return context.WithValue(ctx, ownKey{}, own)
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// orOwn dials the server named by the context without checking its address, and all others with the check.
func orOwn(checked dialFunc, timeout time.Duration) dialFunc {
	dialer := &net.Dialer{Timeout: timeout}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if own, _ := ctx.Value(ownKey{}).(string); strings.EqualFold(own, address) {
			return dialer.DialContext(ctx, network, address)
		}
		return checked(ctx, network, address)
	}
}
