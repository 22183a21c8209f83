// Package run is the process of the HTTP API and the bot.
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
	"stagecoach/api/mcp/tool"
	"stagecoach/api/parts"
	"stagecoach/api/rest"
	"stagecoach/api/rest/events"
	"stagecoach/api/rest/operators"
	"stagecoach/api/rest/server"
	"stagecoach/api/web/site"
	"stagecoach/internal/allowance"
	"stagecoach/internal/app"
	"stagecoach/internal/catalog"
	"stagecoach/internal/codec"
	"stagecoach/internal/config"
	"stagecoach/internal/feed"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/service/all"
)

// botPatience is how long the bot waits for the end of a job that a person cancels: the chat's next update waits
// meanwhile, and the job's message shows the end later.
const botPatience = 300 * time.Millisecond

// process is one process of the API.
type process struct {
	*app.Connections
	files    *catalog.Catalog
	services all.Services
	reporter *status.Reporter
	requests *allowance.Users // rate of each user's requests, over HTTP and in the bot combined
	refused  func(limit string)
}

// Run serves the HTTP API and, unless it is disabled, the Telegram bot until ctx is done.
func Run(ctx context.Context, c config.Config, log *slog.Logger) error {
	connections, err := app.Connect(ctx, c, log, "api", (*codec.Codec).Apply)
	if err != nil {
		return err
	}

	p := newProcess(connections)
	defer p.Close()
	defer p.files.Close()
	defer p.KeepAlive(ctx)()

	err = app.RetryWhileUnavailable(ctx, log, "the database", func() error {
		return p.Store.Accounts.EnsureAdmins(ctx, c.AdminToken, c.API.AdminIDs)
	})
	if err != nil {
		return err
	}

	p.Metrics.Registry.MustRegister(p.reporter)

	if c.API.MetricsAddr != "" {
		stop := app.ServeMetrics(c.API.MetricsAddr, p.Metrics.Handler(), log)
		defer stop()
	}

	stream := events.NewFeed(feed.Options{
		Events: p.Store.Notices, Tokens: p.Store.Accounts, Webhooks: p.Store.Webhooks,
		PerPerson: streamsPerPerson, Total: streamsInAll, CatchUp: eventsToCatchUp, Log: log,
		OnLag: p.Metrics.EventsLag.Set, OnFollowers: func(n int) { p.Metrics.EventStreams.Set(float64(n)) },
		WakeWebhook: p.Webhooks().Wake,
		OnEvents:    p.services.Tasks.Line.Hear,
	})

	running, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, p.services.Tasks.Line.Stop)
	running.Go(func() error { stream.Run(ctx); return nil })
	handler, err := p.handler(stream)
	if err != nil {
		return err
	}

	running.Go(func() error { return p.serveAPI(ctx, handler) })
	if c.API.Bot {
		running.Go(func() error { return p.bot().Run(ctx) })
	}
	return running.Wait()
}

func newProcess(connections *app.Connections) process {
	p := process{
		Connections: connections, services: all.From(connections), reporter: connections.Reporter(),
		requests: allowance.NewUsers(connections.Config.Limits.Requests),
		refused:  connections.CountRefused(),
	}
	p.files = files(connections)
	return p
}

// handler returns the handler of the HTTP API and the pages.
func (p process) handler(stream *feed.Feed) (http.Handler, error) {
	readers := operators.CodecOptions{Namespace: p.Namespace, Origin: p.Config.API.WebUIOrigin}
	if p.Codec != nil {
		readers.Handler = converter.NewPayloadCodecHTTPHandler(p.Codec)
	}

	api := rest.New(rest.Options{
		Config: server.Config{
			Store: p.Store, Requests: p.requests, Guesses: allowance.NewGuesses(wrongTokens),
			Open:      allowance.NewAddresses(allowance.LimitReceipts, openRequests),
			OnRefused: p.refused, Log: p.Log, Version: app.Version, PublicURL: p.Config.API.BrowserURL(),
			TrustedProxies: p.Config.API.TrustedProxies,
		},
		Parts: parts.REST(p.services, p.files), Workloads: p.services.Workloads(), OnBlocked: p.services.Tasks.Blocked,
		Webhooks: p.Webhooks(), Status: p.reporter, Feed: stream, Temporal: p.Temporal, Codec: readers,
	})

	p.registerOPDS(api)

	workflows := ""
	if ui := p.Config.API.WebUIOrigin; ui != "" {
		workflows = ui + "/namespaces/" + p.Namespace + "/workflows"
	}

	tool.Register(api, parts.MCP()...)
	return api, site.Register(site.Config{
		API: api, Store: p.Store.Accounts, Events: stream, Provider: p.provider(), Temporal: workflows,
		Library: p.Config.Library.Dir != "",
	}, parts.Web()...)
}

// bot returns the Telegram bot.
func (p process) bot() *bot.Bot {
	c := p.Config.API
	return bot.New(bot.Options{
		Telegram: p.Telegram, Store: p.Store, Status: p.reporter, Log: p.Log,
		Parts:    parts.Bot(p.services.WithPatience(botPatience), p.files, p.Store),
		Requests: p.requests, OnRefused: p.refused, Strangers: strangersPerHour,
		CacheChat:      p.Config.Telegram.CacheChat,
		ActivateAtOnce: c.ActivateAtOnce, AdminIDs: c.AdminIDs, PublicURL: c.BrowserURL(), OnBlocked: p.services.Tasks.Blocked,
	})
}

// serveAPI serves requests until ctx is done, then lets those in flight finish. Event streams end with ctx.
func (p process) serveAPI(ctx context.Context, handler http.Handler) error {
	c, log := p.Config.API, p.Log
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return err
	}
	listener = boundConnections(listener, streamsInAll, c.TrustedProxies, p.refused)

	// Requests in flight outlive ctx: if canceled, they would fail even though their work may be done.
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
			log.Warn("in-flight requests cut off", "error", err)
			_ = server.Close()
		}
		close(stopped)
	})

	log.Info("API listening", "addr", listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}

	<-stopped
	return nil
}
