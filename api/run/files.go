package run

import (
	"time"

	"stagecoach/internal/app"
	"stagecoach/internal/catalog"
)

// files returns the catalog of deliverable files.
func files(a *app.Connections) *catalog.Catalog {
	return catalog.New(catalog.Options{
		Store: a.Store.Deliveries, Upstream: a.Yandex, TTL: a.Config.Yandex.ListingTTL, Log: a.Log,
		Observe: func(took time.Duration) { a.Metrics.NavigationLatency.Observe(took.Seconds()) },
	})
}
