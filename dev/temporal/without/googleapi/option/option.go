// Package option has the options of Google's clients that the server refers to.
package option

import "golang.org/x/oauth2"

type ClientOption any

func WithTokenSource(oauth2.TokenSource) ClientOption { return nil }
