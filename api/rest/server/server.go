package server

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// Config is what all operations of an API share. Fields with a default are optional.
type Config struct {
	Store     *store.Store
	Requests  *allowance.Users     // rate of each user's requests; default: unlimited
	Guesses   *allowance.Guesses   // rate of wrong tokens; default: unlimited
	Open      *allowance.Addresses // rate of requests without a token for receipts and documents; default: unlimited
	Bodies    *allowance.Room      // bodies held by the process; default: its own allowance
	WriteTime time.Duration        // how long a client may take to read a response that is not a stream; default 30 s
	OnRefused func(limit string)   // called for requests refused by a limit; default: no-op
	Log       *slog.Logger         // default: none
	Version   string               // of the program, for the OpenAPI document; default "dev"
	PublicURL string               // base URL for browsers, without a path
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
}

// Server is an HTTP API to which operations are added.
type Server struct {
	Config
	Mux *http.ServeMux // for endpoints outside the API, such as the documents
	// maps codes to HTTP; a missing one becomes INTERNAL
	Kinds map[fault.Code]Kind
	// Unrouted answers a request that matches no operation, instead of the problem; false: respond with the problem. nil:
	// always respond with the problem.
	Unrouted func(w http.ResponseWriter, r *http.Request, p *Problem) bool

	hidden map[fault.Code]func(ctx context.Context, id int64) error
	api    huma.API
}

// New returns a Server without operations.
func New(c Config) *Server {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Requests = cmp.Or(c.Requests, allowance.NewUsers(0))
	c.Guesses = cmp.Or(c.Guesses, allowance.NewGuesses(0))
	c.Open = cmp.Or(c.Open, allowance.NewAddresses(allowance.LimitReceipts, 0))
	c.WriteTime = cmp.Or(c.WriteTime, 30*time.Second)
	c.Bodies = cmp.Or(c.Bodies, allowance.NewBodies())
	if c.OnRefused == nil {
		c.OnRefused = func(string) {}
	}

	mux := http.NewServeMux()
	return &Server{
		Config: c, Mux: mux, Kinds: maps.Clone(commonKinds), hidden: map[fault.Code]func(context.Context, int64) error{},
		api: humago.New(mux, describe(cmp.Or(c.Version, "dev"))),
	}
}

// OpenAPI returns the document of the operations added so far.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }

// SchemaOf returns a type's schema in the document.
func SchemaOf[T any](s *Server) *huma.Schema {
	return s.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// describe returns the part of the document that concerns no single operation. Huma's own pages are disabled: they load
// scripts from other sites.
func describe(version string) huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Stagecoach",
				Version:     version,
				Description: "IDs are strings, times are RFC 3339 in UTC, sizes are in bytes. Responses may gain fields: ignore those that you do not know.",
				License:     &huma.License{Name: "MIT", Identifier: "MIT"},
			},
			Servers: []*huma.Server{{URL: "/", Description: "Where this document is served"}},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry(SchemaPrefix, schemaName),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					bearer: {Type: "http", Scheme: "bearer", Description: "The token that an administrator gave you, or one that you created. Each operation names the scope that it requires."},
				},
			},
		},
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	}
}
