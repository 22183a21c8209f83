// Package option has what the server names of the options of Google's clients.
package option

import "golang.org/x/oauth2"

type ClientOption any

func WithTokenSource(oauth2.TokenSource) ClientOption { return nil }
