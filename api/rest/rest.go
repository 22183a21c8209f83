// Package rest is the HTTP door: JSON under /v1, a stream of events, and what operators need to watch a process.
//
// There is one file per resource. Each registers its operations with what the OpenAPI document, the page at /docs, the
// access check and the audit log need to know about them, so that none of these can differ from what is served. Every
// failure leaves through one type, problem, whatever noticed it.
package rest

import (
	"cmp"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/allowance"
	"stagecoach/internal/catalog"
	"stagecoach/internal/feed"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// Options are what the door stands on. Those with a default may be left out.
type Options struct {
	Store        *store.Store
	Deliveries   *service.Deliveries
	Tasks        *service.Tasks
	Downloads    *service.Downloads
	Transactions *service.Transactions
	Catalog      *catalog.Catalog
	Status       *status.Reporter
	Doctor       *doctor.Doctor
	Feed         *feed.Feed         // from NewFeed; event streams end when it does
	Temporal     client.Client      // for /ready
	Codec        CodecOptions       // optional
	Requests     *allowance.Users   // the rate of each user's requests; default: no bound
	Guesses      *allowance.Guesses // the rate of wrong tokens; default: no bound
	OnRefused    func(limit string) // counts requests that are refused for a limit; nil: nobody does
	Log          *slog.Logger       // default: none
	Version      string             // of the program; default "dev"
}

// server is the door with its machinery.
type server struct {
	o   Options
	mux *http.ServeMux
	api huma.API

	ready readiness
}

// New makes the handler of all HTTP requests. It limits bodies; time-outs are the server's.
func New(o Options) http.Handler {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Version = cmp.Or(o.Version, "dev")
	o.Requests = cmp.Or(o.Requests, allowance.NewUsers(o.Store, 0))
	o.Guesses = cmp.Or(o.Guesses, allowance.NewGuesses(0))
	if o.OnRefused == nil {
		o.OnRefused = func(string) {}
	}

	mux := http.NewServeMux()
	s := &server{o: o, mux: mux, api: humago.New(mux, config(o.Version))}

	s.registerFiles()
	s.registerDeliveries()
	s.registerWorkspaces()
	s.registerTasks()
	s.registerTaskActions()
	s.registerTaskStats()
	s.registerBooks()
	s.registerDownloads()
	s.registerTransactions()
	s.registerPayments()
	s.registerTransactionStats()
	s.registerEvents()
	s.registerStatus()
	s.registerDoctor()
	s.registerUsers()
	s.registerTokens()
	s.registerAudit()
	s.registerFindings()
	s.registerHealth()
	s.registerReady()
	s.registerCodec()
	s.registerDocs() // last: it shows all the others
	return s.outside()
}

// config describes the API as a whole. Huma's own pages are left out: they load scripts from elsewhere.
func config(version string) huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Stagecoach",
				Version:     version,
				Description: "Ids are strings, times are RFC 3339 in UTC, sizes are bytes. Answers may get more fields: ignore those that you do not know.",
				License:     &huma.License{Name: "MIT", Identifier: "MIT"},
			},
			Servers: []*huma.Server{{URL: "/", Description: "Where this document is served"}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					bearer: {Type: "http", Scheme: "bearer", Description: "The token that an administrator gave you, or one that you have made. An operation names the scope that the token needs."},
				},
			},
		},
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	}
}
