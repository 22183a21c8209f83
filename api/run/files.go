package run

import (
	"time"

	"stagecoach/api/opds"
	"stagecoach/api/rest/server"
	"stagecoach/internal/app"
	"stagecoach/internal/catalog"
	"stagecoach/internal/shelf"
)

// files makes the catalogue of what can be delivered.
func files(a *app.Connections) *catalog.Catalog {
	return catalog.New(catalog.Options{
		Store: a.Store.Deliveries, Upstream: a.Yandex, TTL: a.Config.Yandex.ListingTTL, Log: a.Log,
		Observe: func(took time.Duration) { a.Metrics.NavigationLatency.Observe(took.Seconds()) },
	})
}

// registerOPDS serves the library folder to reading apps, where there is one.
func (p process) registerOPDS(api *server.Server) {
	opds.Register(api, p.services.Downloads, shelf.Folder{Dir: p.Config.Library.Dir})
}
