// Package outbound holds what every client of an outside system has to keep to.
package outbound

import "net/http"

// RefuseRedirects is the CheckRedirect of a client whose requests carry a key, a session or a token: the answer that
// redirects is given as it is, and the secret goes to nobody else. None of the protocols spoken here needs a redirect
// with a secret.
func RefuseRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
