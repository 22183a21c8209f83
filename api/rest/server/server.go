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

// Config is what every operation of an API needs. What has a default may be left out.
type Config struct {
	Store     *store.Store
	Requests  *allowance.Users     // the rate of each user's requests; default: no bound
	Guesses   *allowance.Guesses   // the rate of wrong tokens; default: no bound
	Open      *allowance.Addresses // the rate of requests without a token for receipts and documents; default: no bound
	Bodies    *allowance.Bodies    // the bodies that the process holds; default: those of a process of its own
	WriteTime time.Duration        // how long a client may take to read an answer that is no stream; default 30 s
	OnRefused func(limit string)   // counts requests that are refused for a limit; default: nothing
	Log       *slog.Logger         // default: none
	Version   string               // of the program, for the OpenAPI document; default "dev"
	PublicURL string               // at which browsers see this server, without a path
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For says who sends a request.
	TrustedProxies []netip.Prefix
}

// Server is an HTTP API to which operations are added.
type Server struct {
	Config
	Mux *http.ServeMux // for what is not an operation of the API, such as the documents
	// Kinds are the codes that the API answers with. One that is missing is answered as INTERNAL.
	Kinds map[fault.Code]Kind
	// Unrouted answers a request that reaches no operation, in place of the problem; false: the problem is right. nil:
	// it always is.
	Unrouted func(w http.ResponseWriter, r *http.Request, p *Problem) bool

	hidden map[fault.Code]func(ctx context.Context, id int64) error
	api    huma.API
}

// New makes a Server without operations.
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

// OpenAPI gives the document of the operations that were added so far.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }

// SchemaOf gives the schema of a type in the document.
func SchemaOf[T any](s *Server) *huma.Schema {
	return s.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// describe gives the part of the document that is about no single operation. Huma's own pages are left out: they load scripts from elsewhere.
func describe(version string) huma.Config {
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
				Schemas: huma.NewMapRegistry(SchemaPrefix, schemaName),
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
