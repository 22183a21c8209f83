// Package rest is the HTTP API: JSON under /v1, a stream of events, and what operators need to watch a process.
//
// The packages below it hold the operations, one package per subject. An operation is declared with what the OpenAPI
// document, the page at /docs, the access check and the audit log need to know about it, so that none of these can
// differ from what is served. Every failure is answered with one type, server.Problem.
package rest

import (
	"context"

	"go.temporal.io/sdk/client"

	"stagecoach/api/rest/accounts"
	"stagecoach/api/rest/events"
	"stagecoach/api/rest/operators"
	"stagecoach/api/rest/server"
	"stagecoach/api/rest/webhooks"
	"stagecoach/internal/feed"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/service"
	webhookservice "stagecoach/internal/service/webhooks"
)

// Options are what the API needs. Codec may be left out.
type Options struct {
	server.Config

	Parts     []func(*server.Server)                  // add the operations of the workloads
	Workloads []service.Workload                      // release what they have of a person who is forgotten
	OnBlocked func(ctx context.Context, userID int64) // is called when a user was blocked; nil: nothing is
	Webhooks  *webhookservice.Service
	Status    *status.Reporter
	Feed      *feed.Feed    // from events.NewFeed; event streams end when it does
	Temporal  client.Client // for /ready
	Codec     operators.CodecOptions
}

// New makes the server of all HTTP requests. It limits bodies; time-outs are the server's.
func New(o Options) *server.Server {
	s := server.New(o.Config)
	for _, add := range o.Parts {
		add(s)
	}

	accounts.Register(s, o.Workloads, o.OnBlocked)
	events.Register(s, o.Feed)
	webhooks.Register(s, o.Webhooks, o.Feed)
	operators.Register(s, o.Status, o.Temporal)
	operators.RegisterCodec(s, o.Codec)
	registerDocs(s) // last: it shows all the others
	return s
}
