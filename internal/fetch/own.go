package fetch

import (
	"context"
	"net"
	"strings"
	"time"
)

// ownKey is the key of a context that holds the host and port of the operator's server which its requests may reach,
// wherever it is; an empty one is none.
type ownKey struct{}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// orOwn dials the server that the context names without a check of its address, and all others, those of redirects too,
// with it.
func orOwn(checked dialFunc, timeout time.Duration) dialFunc {
	dialer := &net.Dialer{Timeout: timeout}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if own, _ := ctx.Value(ownKey{}).(string); strings.EqualFold(own, address) {
			return dialer.DialContext(ctx, network, address)
		}
		return checked(ctx, network, address)
	}
}
