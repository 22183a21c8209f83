package stack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/errgroup"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim/oidcsim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/torznabsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/starter/terminal"
)

// startServers starts PostgreSQL with the record, Temporal and, if it is installed, qBittorrent in parallel: each takes
// seconds. It returns the storage's tokens from the record.
func (s *Stack) startServers(ctx context.Context) (tokens oauth2.Token, err error) {
	s.Screen.Draw("  PostgreSQL, Temporal and qBittorrent start")
	defer s.Screen.Draw()

	starting, ctx := errgroup.WithContext(ctx)
	own := os.Getenv("DATABASE_URL")
	if s.Cluster && own != "" {
		return tokens, terminal.UsageError("a cluster keeps its state in a PostgreSQL of its own: unset DATABASE_URL")
	}

	starting.Go(func() (err error) {
		if s.DatabaseURL = own; own != "" {
			s.Screen.Say("  PostgreSQL   the one that DATABASE_URL names")
		} else if err := s.startPostgres(ctx); err != nil {
			return err
		}
		if tokens, err = s.prepareRecord(ctx); err != nil || !s.Cluster {
			return err
		}
		return s.startTemporalCluster(ctx)
	})

	if !s.Cluster {
		starting.Go(func() error { return s.startTemporal(ctx) })
	}

	starting.Go(func() error {
		if err := s.addTorrents(); err != nil {
			return err
		}
		return s.startQBittorrent(ctx)
	})
	err = starting.Wait()
	return tokens, err
}

func (s *Stack) startPostgres(ctx context.Context) error {
	began := time.Now()
	postgres, err := s.StartPostgres(ctx, servers.PostgresOptions{
		Dir: filepath.Join(s.State, "postgres"), Port: s.kept.Ports.Postgres, Log: s.logs["postgresql"],
	})
	if err != nil {
		return err
	}

	s.kept.Ports.Postgres = portOfURL(postgres.URL)
	s.Screen.Say(
		"  PostgreSQL   %s, ready in %s", strings.TrimPrefix(postgres.String(), "PostgreSQL "),
		terminal.Took(time.Since(began)),
	)
	return nil
}

func (s *Stack) startTemporal(ctx context.Context) error {
	began := time.Now()
	temporal, err := s.StartTemporal(ctx, servers.TemporalOptions{
		DBFile: s.ofRecord("temporal", ".db"), Log: s.logs["temporal"],
		Port: s.kept.Ports.Temporal, UIPort: s.kept.Ports.WebUI,
		Progress: s.showStep,
	})
	if err != nil {
		return err
	}

	s.Screen.Say("  Temporal     %s, ready in %s", temporal.Address, terminal.Took(time.Since(began)))
	return s.useTemporal(temporal.Address, temporal.WebUI)
}

// showStep shows a long step of a start.
func (s *Stack) showStep(step string) {
	if s.Screen.Live {
		s.Screen.Draw("  " + step)
	} else {
		s.Screen.Say("  %s", step)
	}
}

// useTemporal records the addresses of the started Temporal, and connects this process to it.
func (s *Stack) useTemporal(address, webUI string) error {
	s.Info.WebUI = webUI
	s.kept.Ports.Temporal, s.kept.Ports.WebUI = portOfURL("//"+address), portOfURL(webUI)
	return pointTemporalClients(address)
}

// ofRecord names a file or folder of the state that belongs to the record. Temporal's workflows refer to rows by id,
// and the chain's transfers are rows, so each record needs its own Temporal and chain.
func (s *Stack) ofRecord(name, extension string) string {
	if own, err := url.Parse(os.Getenv("DATABASE_URL")); err == nil && own.Host+own.Path != "" {
		sum := sha256.Sum256([]byte(own.Host + own.Path))
		name = fmt.Sprintf("%s-%x", name, sum[:4])
	}
	return filepath.Join(s.State, name+extension)
}

// pointTemporalClients connects the services of this process to our server, whatever the environment or the temporal
// CLI's profile file say.
func pointTemporalClients(address string) error {
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "TEMPORAL_") {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}

	return errors.Join(
		os.Setenv("TEMPORAL_ADDRESS", address),
		os.Setenv("TEMPORAL_NAMESPACE", "default"),
		os.Setenv("TEMPORAL_CONFIG_FILE", os.DevNull),
	)
}

// startStandIns starts the simulators of the external systems. The disk accepts the tokens in the database, so that
// both agree after either was replaced.
func (s *Stack) startStandIns(ctx context.Context, tokens oauth2.Token) error {
	err := s.StartTelegram(telegramsim.Options{Dir: filepath.Join(s.State, "telegram"), Token: s.kept.TelegramToken})
	if err != nil {
		return err
	}
	if err := s.introducePeople(ctx); err != nil {
		return err
	}

	if tokens.RefreshToken == "" {
		tokens.RefreshToken = s.kept.RefreshToken
	}

	err = s.StartYandex(yandexsim.Options{
		Dir: s.DropFolder(), ClientID: s.kept.ClientID, ClientSecret: s.kept.ClientSecret,
		RefreshToken: tokens.RefreshToken, AccessToken: tokens.AccessToken,
	})
	if err != nil {
		return err
	}
	if err := s.StartOIDC(oidcsim.Options{ClientID: s.kept.ClientID, ClientSecret: s.kept.ClientSecret}); err != nil {
		return err
	}
	if err := s.startTorrentStandIn(); err != nil {
		return err
	}
	err = s.StartTorznab(torznabsim.Options{Key: torznabKey, Releases: Releases(s.Torrents.Demo, s.Torrents.Spare, s.Torrents.Audio)})
	if err != nil {
		return err
	}

	return s.startShop(ctx)
}

// onPort starts a component on its port of the last run, or on a free one, and records which.
func onPort(port *int, start func(address string) error) error {
	for wish := *port; ; wish = 0 {
		free, err := servers.PreferPort(wish)
		if err != nil {
			return err
		}

		err = start(loopback(free))
		if err == nil {
			*port = free
			return nil
		}
		if wish == 0 { // another process has taken a port that was free a moment ago
			return err
		}
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// portOfURL returns the port of a URL, 0 if there is none.
func portOfURL(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return 0
	}
	return port
}
