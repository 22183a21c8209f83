// Package run makes the process of the HTTP API and the bot.
package run

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"stagecoach/api/bot"
	"stagecoach/api/parts"
	"stagecoach/api/rest"
	"stagecoach/api/rest/events"
	"stagecoach/api/rest/operators"
	"stagecoach/api/rest/server"
	"stagecoach/internal/allowance"
	"stagecoach/internal/app"
	"stagecoach/internal/catalog"
	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/feed"
	"stagecoach/internal/service"
)

// botPatience is how long the bot waits to see a job end that a person cancels.
const botPatience = 300 * time.Millisecond

// process is one process of the API.
type process struct{ *app.Connections }

// Run serves the HTTP API and, unless it is switched off, the Telegram bot until ctx ends.
func Run(ctx context.Context, c config.Config, log *slog.Logger) error {
	connections, err := app.Connect(ctx, c, log, "api", (*codec.Codec).Apply)
	if err != nil {
		return err
	}

	p := process{connections}
	defer p.Close()
	defer p.KeepAlive(ctx)()

	if err := p.Store.EnsureAdmins(ctx, c.AdminToken, c.API.AdminIDs); err != nil {
		return err
	}

	files := catalog.New(catalog.Options{
		Store: p.Store, Upstream: p.Yandex, TTL: c.Yandex.ListingTTL, Log: log,
		Observe: func(took time.Duration) { p.Metrics.NavigationLatency.Observe(took.Seconds()) },
	})
	defer files.Close()

	whole := p.Reporter()
	p.Metrics.Registry.MustRegister(whole)
	services := service.From(p)
	readers := operators.CodecOptions{Namespace: p.Namespace, Origin: c.API.WebUIOrigin}
	if p.Codec != nil {
		readers.Handler = converter.NewPayloadCodecHTTPHandler(p.Codec)
	}

	refused := p.CountRefused()
	requests := allowance.NewUsers(p.Store, c.Limits.Requests)
	events := events.NewFeed(feed.Options{
		Store: p.Store, PerUser: c.API.StreamsPerUser, Total: c.API.Streams, CatchUp: c.API.CatchUp, Log: log,
		OnLag: p.Metrics.EventsLag.Set, OnFollowers: func(n int) { p.Metrics.EventStreams.Set(float64(n)) },
	})

	handler := rest.New(rest.Options{
		Config: server.Config{
			Store: p.Store, Requests: requests, Guesses: allowance.NewGuesses(c.Limits.WrongTokens), OnRefused: refused,
			Log: log, Version: app.Version,
		},
		Parts: parts.REST(services, files), Workloads: services.Workloads(), Status: whole, Doctor: p.Doctor(),
		Feed: events, Temporal: p.Temporal, Codec: readers,
	})
	defer p.Examine(ctx, "api", p.apiChecks())()

	if c.API.MetricsAddr != "" {
		stop := app.ServeMetrics(c.API.MetricsAddr, p.Metrics.Handler(), log)
		defer stop()
	}

	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { events.Run(ctx); return nil })
	running.Go(func() error { return serveAPI(ctx, c.API.Addr, handler, log) })
	if c.API.Bot {
		// A chat's updates wait for each other, and the job's message shows the end anyway.
		telegramBot := bot.New(bot.Options{
			Telegram: p.Telegram, Store: p.Store, Parts: parts.Bot(services.WithPatience(botPatience), files, p.Store),
			Status: whole, Log: log,
			Requests: requests, OnRefused: refused, Strangers: c.Limits.Strangers, ActivateAtOnce: c.API.ActivateAtOnce,
			AdminIDs: c.API.AdminIDs, EditEvery: c.API.EditEvery,
		})
		running.Go(func() error { return telegramBot.Run(ctx) })
	}

	return running.Wait()
}

// serveAPI listens until ctx ends, then lets requests under way finish; event streams end with ctx.
func serveAPI(ctx context.Context, addr string, handler http.Handler, log *slog.Logger) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}

	// A request under way goes on while the process stops: its sender would hear of an end that is none.
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()

	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}

	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			log.Warn("requests under way are cut off", "error", err) // who asked will ask again
			_ = server.Close()
		}
		close(stopped)
	})

	log.Info("API listens", "addr", listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}

	<-stopped
	return nil
}
