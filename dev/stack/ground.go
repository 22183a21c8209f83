package stack

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim/oidcsim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/internal/config"
	"stagecoach/internal/devinfo"
	"stagecoach/internal/lifecycle"
)

// Ground is what worker and API need: a database, a Temporal server, and simulators of the external systems. The
// demonstration, the benches and the end-to-end tests each start the parts that they need and give the services the
// settings for them.
type Ground struct {
	DatabaseURL         string
	Temporal, Namespace string // host:port; empty: the default one
	Key                 []byte // encrypts secrets in the database
	AdminToken          string

	// Apart starts a simulator of a kind in its own process; nil: all run in this one.
	Apart func(kind string, options any) (url string, stop func() error, err error)

	StandIns devinfo.StandIns

	// The simulators that run in this process.
	Telegram    *telegramsim.Server
	Yandex      *yandexsim.Server
	QBittorrent *torrentsim.QBittorrent
	Chain       *tonsim.TonCenter
	Fragment    *tonsim.Fragment
	OIDC        *oidcsim.Server
	WebSeed     *torrentsim.WebSeed
	Torznab     *torznabsim.Server

	settings map[string]string
	port     func(kind string) *int // preferred port of a simulator, replaced by the actual one; nil: any free one
	ended    func(name string)      // called when a server ends without Stop; may be nil

	mu    sync.Mutex
	parts []part // in the order of their start
}

// part is a running component that can be stopped.
type part struct {
	name string
	stop func() error
}

// StartPostgres starts a PostgreSQL server.
func (g *Ground) StartPostgres(ctx context.Context, o servers.PostgresOptions) (*servers.Postgres, error) {
	server, err := servers.StartPostgres(ctx, o)
	if err != nil {
		return nil, err
	}

	g.DatabaseURL = server.URL
	g.startedServer("PostgreSQL", server.Done(), server.Stop)
	return server, nil
}

// StartTemporal starts a Temporal server.
func (g *Ground) StartTemporal(ctx context.Context, o servers.TemporalOptions) (*servers.Temporal, error) {
	server, err := servers.StartTemporal(ctx, o)
	if err != nil {
		return nil, err
	}

	g.Temporal = server.Address
	g.startedServer("Temporal", server.Done(), server.Stop)
	return server, nil
}

// StartCluster starts Temporal as a cluster on the PostgreSQL server. Only the queues in which users take turns have a
// single partition.
func (g *Ground) StartCluster(ctx context.Context, o servers.ClusterOptions) (*servers.Cluster, error) {
	o.DatabaseURL, o.OnePartition = g.DatabaseURL, lifecycle.FairQueues()
	cluster, err := servers.StartCluster(ctx, o)
	if err != nil {
		return nil, err
	}

	g.Temporal = cluster.Address
	g.startedServer("Temporal", cluster.Done(), cluster.Stop)
	return cluster, nil
}

// StartQBittorrent starts the real program.
func (g *Ground) StartQBittorrent(ctx context.Context, o servers.QBittorrentOptions) (*servers.QBittorrent, error) {
	server, err := servers.StartQBittorrent(ctx, o)
	if err != nil {
		return nil, err
	}

	g.useQBittorrent(server.URL, server.Username, server.Password)
	g.startedServer("qBittorrent", server.Done(), server.Stop)
	return server, nil
}

// StartTelegram starts the simulated Telegram.
func (g *Ground) StartTelegram(o telegramsim.Options) (err error) {
	if g.StandIns.Telegram, err = g.startStandIn(kindTelegram, o); err != nil {
		return err
	}
	g.configure(map[string]string{
		"STAGECOACH_TELEGRAM_API_URL": g.StandIns.Telegram,
		"STAGECOACH_TELEGRAM_TOKEN":   o.Token,
	})
	return nil
}

// StartYandex starts the simulated Yandex Disk and its OAuth server.
func (g *Ground) StartYandex(o yandexsim.Options) (err error) {
	if g.StandIns.Yandex, err = g.startStandIn(kindYandex, o); err != nil {
		return err
	}

	g.configure(map[string]string{
		"STAGECOACH_YANDEX_API_URL":       g.StandIns.Yandex,
		"STAGECOACH_YANDEX_TOKEN_URL":     g.StandIns.Yandex + "/token",
		"STAGECOACH_YANDEX_CLIENT_ID":     o.ClientID,
		"STAGECOACH_YANDEX_CLIENT_SECRET": o.ClientSecret,
		"STAGECOACH_YANDEX_ACCESS_TOKEN":  o.AccessToken,
		"STAGECOACH_YANDEX_REFRESH_TOKEN": o.RefreshToken,
	})

	return nil
}

// StartQBittorrentStandIn starts the simulated qBittorrent.
func (g *Ground) StartQBittorrentStandIn(o torrentsim.QBittorrentOptions) error {
	url, err := g.startStandIn(kindQBittorrent, o)
	if err != nil {
		return err
	}
	g.useQBittorrent(url, o.Username, o.Password)
	return nil
}

func (g *Ground) useQBittorrent(url, username, password string) {
	g.StandIns.QBittorrent = url
	g.configure(map[string]string{
		"STAGECOACH_QBITTORRENT_URL":      url,
		"STAGECOACH_QBITTORRENT_USERNAME": username,
		"STAGECOACH_QBITTORRENT_PASSWORD": password,
	})
}

// StartWebSeed serves torrents for tests and demonstrations.
func (g *Ground) StartWebSeed() error {
	err := onPort(g.portOf(kindWebSeed), func(address string) (err error) {
		g.WebSeed, err = torrentsim.StartWebSeed(address)
		return err
	})
	if err != nil {
		return err
	}

	g.StandIns.WebSeed = g.WebSeed.URL
	g.started("web seed", g.WebSeed.Close)
	return nil
}

// ShopOptions configure the purchase of Stars.
type ShopOptions struct {
	Seed     []byte // of the key of the service's wallet, 32 bytes
	Chain    tonsim.TonCenterOptions
	Fragment tonsim.FragmentOptions
}

const shopSession = "stel_ssid=dev; stel_dt=0; stel_token=dev; stel_ton_token=dev"

// StartShop starts a simulated chain that holds the wallet, and a simulated Fragment that is paid on it.
func (g *Ground) StartShop(ctx context.Context, o ShopOptions) (err error) {
	o.Chain.PublicKey = hex.EncodeToString(ed25519.NewKeyFromSeed(o.Seed).Public().(ed25519.PublicKey))
	if g.StandIns.TonCenter, err = g.startStandIn(kindTonCenter, o.Chain); err != nil {
		return err
	}

	o.Fragment.TonCenterURL = g.StandIns.TonCenter
	if g.StandIns.Fragment, err = g.startStandIn(kindFragment, o.Fragment); err != nil {
		return err
	}

	shop, err := shopAddress(ctx, g.StandIns.TonCenter)
	if err != nil {
		return err
	}

	g.configure(map[string]string{
		"STAGECOACH_TON_KEY":          hex.EncodeToString(o.Seed),
		"STAGECOACH_TONCENTER_URL":    g.StandIns.TonCenter,
		"STAGECOACH_FRAGMENT_URL":     g.StandIns.Fragment,
		"STAGECOACH_FRAGMENT_COOKIES": shopSession,
		"STAGECOACH_TX_ALLOW":         shop,
		"STAGECOACH_TX_WHOLE_HISTORY": "true", // a transfer may precede the first read of the chain
	})

	return nil
}

// shopAddress queries the simulated chain for the address of Fragment's wallet.
func shopAddress(ctx context.Context, chain string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, chain+"/_/chain", nil)
	if err != nil {
		return "", err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()

	var about struct {
		Shop string `json:"shop"`
	}

	err = json.NewDecoder(response.Body).Decode(&about)
	return about.Shop, err
}

// startStandIn starts a simulator and returns its URL.
func (g *Ground) startStandIn(kind string, options any) (url string, err error) {
	if g.Apart != nil {
		url, stop, err := g.Apart(kind, options)
		if err == nil {
			g.started(kind+" simulator", stop)
		}
		return url, err
	}

	standIn, err := NewStandIn(options)
	if err != nil {
		return "", err
	}

	var served *Served
	err = onPort(g.portOf(kind), func(address string) (err error) {
		served, err = Serve(address, standIn)
		return err
	})
	if err != nil {
		return "", errors.Join(err, standIn.Close())
	}

	g.started(kind+" simulator", served.Close)
	g.keep(standIn)
	return served.URL, nil
}

// keep gives the owner of the ground direct access to a simulator in this process.
func (g *Ground) keep(standIn StandIn) {
	switch s := standIn.(type) {
	case *telegramsim.Server:
		g.Telegram = s
	case *yandexsim.Server:
		g.Yandex = s
	case *torrentsim.QBittorrent:
		g.QBittorrent = s
	case *tonsim.TonCenter:
		g.Chain = s
	case *tonsim.Fragment:
		g.Fragment = s
	case *oidcsim.Server:
		g.OIDC = s
	case *torznabsim.Server:
		g.Torznab = s
	}
}

func (g *Ground) portOf(kind string) *int {
	if g.port == nil {
		return new(int)
	}
	return g.port(kind)
}

func (g *Ground) configure(settings map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.settings == nil {
		g.settings = map[string]string{}
	}
	maps.Copy(g.settings, settings)
}

// Addresses are the settings of worker and API for everything that was started, with credentials.
func (g *Ground) Addresses() map[string]string {
	settings := map[string]string{
		"DATABASE_URL":              g.DatabaseURL,
		"TEMPORAL_ADDRESS":          g.Temporal,
		"STAGECOACH_ENCRYPTION_KEY": base64.StdEncoding.EncodeToString(g.Key),
		"STAGECOACH_ADMIN_TOKEN":    g.AdminToken,
	}

	if g.Namespace != "" {
		settings["TEMPORAL_NAMESPACE"] = g.Namespace
	}

	maps.Copy(settings, g.StandInSettings())
	return settings
}

// StandInSettings are the settings for the simulators of the external systems.
func (g *Ground) StandInSettings() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.settings)
}

// Settings are the addresses and what tests and benches need besides: the services stop fast, and one user has the
// limits of many.
func (g *Ground) Settings() map[string]string {
	settings := g.Addresses()
	maps.Copy(settings, map[string]string{
		"STAGECOACH_WORKER_STOP_TIMEOUT": "1s",
		"STAGECOACH_TONCENTER_RATE":      "10000",
		"STAGECOACH_FRAGMENT_RATE":       "10000",
	})

	for _, setting := range config.Settings() {
		if strings.HasPrefix(setting.Name, "STAGECOACH_LIMIT_") {
			settings[setting.Name] = "0"
		}
	}
	return settings
}

func (g *Ground) started(name string, stop func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parts = append(g.parts, part{name, stop})
}

// startedServer registers a server for Close, and reports if it ends by itself.
func (g *Ground) startedServer(name string, done <-chan struct{}, stop func() error) {
	if g.ended == nil {
		g.started(name, stop)
		return
	}

	stopping := make(chan struct{})
	go func() {
		select {
		case <-stopping:
		case <-done:
			g.ended(name)
		}
	}()

	g.started(name, func() error {
		close(stopping)
		return stop()
	})
}

// Close stops everything that was started, in reverse order.
func (g *Ground) Close() error {
	g.mu.Lock()
	parts := g.parts
	g.parts = nil
	g.mu.Unlock()

	var problems []error
	for _, p := range slices.Backward(parts) {
		if err := p.stop(); err != nil {
			problems = append(problems, fmt.Errorf("stop %s: %w", p.name, err))
		}
	}
	return errors.Join(problems...)
}
