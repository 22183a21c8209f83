// Package rest is the HTTP API: JSON under /v1, a stream of events, and the endpoints with which operators monitor a
// process.
//
// The packages below it hold the operations, one package per subject. The declaration of an operation is also the
// source of the OpenAPI document, the page at /docs, the access check and the audit log, so that none of these can
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

// Options are the dependencies of the API. Codec is optional.
type Options struct {
	server.Config

	Parts     []func(*server.Server)                  // add the workloads' operations
	Workloads []service.Workload                      // release what they hold for a person who is forgotten
	OnBlocked func(ctx context.Context, userID int64) // called when a user has been blocked; may be nil
	Webhooks  *webhookservice.Service
	Status    *status.Reporter
	Feed      *feed.Feed    // from events.NewFeed; event streams end with it
	Temporal  client.Client // for /ready
	Codec     operators.CodecOptions
}

// New returns the server of all HTTP requests. It limits bodies; timeouts are the server's.
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
	registerDocs(s) // last, because it documents all the others
	return s
}
