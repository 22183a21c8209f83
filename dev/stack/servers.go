package stack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/errgroup"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/sim/yandexsim"
	"stagecoach/starter/terminal"
)

// startServers starts PostgreSQL, Temporal and, where it is installed, qBittorrent side by side: each takes seconds.
func (s *Stack) startServers(ctx context.Context) error {
	var postgres *servers.Postgres
	var temporal *servers.Temporal
	var qbittorrent *servers.QBittorrent
	s.Screen.Draw("  PostgreSQL, Temporal and qBittorrent start")
	servers, ctx := errgroup.WithContext(ctx)

	if own := os.Getenv("DATABASE_URL"); own != "" {
		s.Info.DatabaseURL = own
		s.Screen.Say("  PostgreSQL   the one that DATABASE_URL names")
	} else {
		servers.Go(func() (err error) {
			postgres, err = s.startPostgres(ctx)
			return err
		})
	}

	servers.Go(func() (err error) {
		temporal, err = s.startTemporal(ctx)
		return err
	})
	servers.Go(func() (err error) {
		qbittorrent, err = s.startQBittorrent(ctx)
		return err
	})
	err := servers.Wait()
	s.Screen.Draw()
	// What did start is ours to stop, also when another did not.
	if postgres != nil {
		s.started("PostgreSQL", s.guard("PostgreSQL", postgres.Done(), postgres.Stop))
	}

	if temporal != nil {
		s.started("Temporal", s.guard("Temporal", temporal.Done(), temporal.Stop))
	}

	if qbittorrent != nil {
		s.started("qBittorrent", s.guard("qBittorrent", qbittorrent.Done(), qbittorrent.Stop))
	}
	return err
}

// guard notices when a server ends by itself, and gives the function that stops it.
func (s *Stack) guard(name string, done <-chan struct{}, stop func() error) func() error {
	stopping := make(chan struct{})
	go func() {
		select {
		case <-stopping:
		case <-done:
			s.broken(fmt.Errorf("%s has ended by itself (see %s)", name, s.Shown(s.logFile(strings.ToLower(name)))))
		}
	}()

	return func() error {
		close(stopping)
		return stop()
	}
}

func (s *Stack) startPostgres(ctx context.Context) (*servers.Postgres, error) {
	began := time.Now()
	postgres, err := servers.StartPostgres(ctx, servers.PostgresOptions{
		Dir: filepath.Join(s.State, "postgres"), Port: s.kept.Ports.Postgres, Log: s.logs["postgresql"],
	})
	if err != nil {
		return nil, err
	}

	s.Info.DatabaseURL = postgres.URL
	if u, err := url.Parse(postgres.URL); err == nil {
		s.kept.Ports.Postgres = portOf(u.Host)
	}

	s.Screen.Say(
		"  PostgreSQL   %s, ready in %s", strings.TrimPrefix(postgres.String(), "PostgreSQL "),
		terminal.Took(time.Since(began)),
	)
	return postgres, nil
}

func (s *Stack) startTemporal(ctx context.Context) (*servers.Temporal, error) {
	began := time.Now()
	temporal, err := servers.StartTemporal(ctx, servers.TemporalOptions{
		DBFile: s.ofRecord("temporal", ".db"), Log: s.logs["temporal"],
		Port: s.kept.Ports.Temporal, UIPort: s.kept.Ports.WebUI,
		Progress: func(step string) {
			if s.Screen.Live {
				s.Screen.Draw("  " + step)
			} else {
				s.Screen.Say("  %s", step)
			}
		},
	})
	if err != nil {
		return nil, err
	}

	s.Info.Temporal, s.Info.WebUI = temporal.Address, temporal.WebUI
	s.kept.Ports.Temporal = portOf(temporal.Address)
	if u, err := url.Parse(temporal.WebUI); err == nil {
		s.kept.Ports.WebUI = portOf(u.Host)
	}

	s.Screen.Say("  Temporal     %s, ready in %s", temporal.Address, terminal.Took(time.Since(began)))
	return temporal, pointTemporalClients(temporal.Address)
}

// ofRecord names a file or folder of the state that belongs to the record: Temporal's workflows name rows by their ids,
// and the chain's transfers are rows, so each record needs a Temporal and a chain of its own.
func (s *Stack) ofRecord(name, extension string) string {
	if own, err := url.Parse(os.Getenv("DATABASE_URL")); err == nil && own.Host+own.Path != "" {
		sum := sha256.Sum256([]byte(own.Host + own.Path))
		name = fmt.Sprintf("%s-%x", name, sum[:4])
	}
	return filepath.Join(s.State, name+extension)
}

// pointTemporalClients makes the services of this process talk to our server, whatever the environment or the profile
// file of the temporal CLI says about others.
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

// startStandIns starts the stand-ins for the outside systems. The disk honours the tokens that the database holds, so
// that both agree whichever of them was replaced.
func (s *Stack) startStandIns(ctx context.Context, tokens oauth2.Token) error {
	telegram, err := telegramsim.New(telegramsim.Options{
		Dir: filepath.Join(s.State, "telegram"), Token: s.kept.TelegramToken,
	})
	if err != nil {
		return err
	}
	if s.Info.StandIns.Telegram, err = s.serveStandIn("telegram", telegram, &s.kept.Ports.Telegram); err != nil {
		return err
	}

	s.Telegram = telegram
	if err := s.introducePeople(ctx); err != nil {
		return err
	}

	if tokens.RefreshToken == "" {
		tokens.RefreshToken = s.kept.RefreshToken
	}

	yandex, err := yandexsim.New(yandexsim.Options{
		Dir: s.DropFolder(), ClientID: s.kept.ClientID, ClientSecret: s.kept.ClientSecret,
		RefreshToken: tokens.RefreshToken, AccessToken: tokens.AccessToken,
	})
	if err != nil {
		return err
	}
	if s.Info.StandIns.Yandex, err = s.serveStandIn("yandex", yandex, &s.kept.Ports.Yandex); err != nil {
		return err
	}
	if err := s.startTorrentStandIn(); err != nil {
		return err
	}

	return s.startShop()
}

// StandIn is a server that stands in for an outside system.
type StandIn interface {
	http.Handler
	io.Closer
}

// serveStandIn serves a stand-in on the port it had the last time, or on a free one, and notes which.
func (s *Stack) serveStandIn(name string, handler StandIn, port *int) (address string, err error) {
	var stop func()
	err = onPort(port, func(at string) (err error) {
		address, stop, err = sim.Start(at, handler)
		return err
	})
	if err != nil {
		return "", errors.Join(err, handler.Close())
	}

	s.started(name+" stand-in", func() error {
		stop()
		return handler.Close()
	})
	return address, nil
}

// onPort starts something on the port it had the last time, or on a free one, and notes which.
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
		if wish == 0 { // somebody else was quicker even with a port that was free a moment ago
			return err
		}
	}
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// portOf gives the port of a host:port, 0 when there is none.
func portOf(address string) int {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}
