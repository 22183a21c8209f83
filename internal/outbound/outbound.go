// Package outbound has the rules common to the clients of external systems.
package outbound

import "net/http"

// RefuseRedirects is the CheckRedirect of a client whose requests carry a key, a session or a token: the redirecting
// answer is returned as it is, and the secret is sent to no other host. None of the protocols used here needs a
// redirect with a secret.
func RefuseRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
