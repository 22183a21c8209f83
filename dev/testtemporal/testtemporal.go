// Package testtemporal provides tests with real Temporal servers. Each is lent to one test at a time, which has its
// task queues to itself. A test process starts as many as its tests need at the same time, because a start takes longer
// than most tests.
//
// A package that uses it stops the servers when its tests are over:
//
//	func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }
package testtemporal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/client"

	"stagecoach/dev/servers"
	"stagecoach/internal/temporalio"
)

// atOnce limits the servers of a process.
const atOnce = 4

// Server is a Temporal server with our search attributes.
type Server struct {
	*servers.Temporal
	Client client.Client
	dir    string

	serial int        // of the next namespace
	ready  chan error // gets the outcome of its preparation
}

var (
	idle   = make(chan *Server, atOnce) // unused servers for Take
	slots  = make(chan struct{}, atOnce)
	spaced = make(chan *Server, 4*atOnce) // unused servers for Namespace
)

// Take lends a server until the test ends. It may contain workflows of earlier tests.
func Take(t testing.TB) *Server {
	t.Helper()
	slots <- struct{}{}
	var s *Server
	select {
	case s = <-idle:
	default:
		var err error
		if s, err = start(); err != nil {
			<-slots
			t.Fatal(err)
		}
	}

	t.Cleanup(func() { idle <- s; <-slots })
	return s
}

// Namespace lends a server until the test ends, and returns an unused namespace with our search attributes, for a
// complete Stagecoach. Unlike Take it never waits for another test.
func Namespace(t testing.TB) (s *Server, name string) {
	t.Helper()
	var err error
	select {
	case s = <-spaced:
	default:
		if s, err = start(propagation); err != nil {
			t.Fatal(err)
		}
		s.prepareNamespace()
	}

	name = s.namespace()
	if err := <-s.ready; err != nil {
		s.stop() // the next test would fail too
		t.Fatal(err)
	}
	s.serial++
	s.prepareNamespace() // the next one, while this one is in use

	t.Cleanup(func() {
		select {
		case spaced <- s:
		default:
			s.stop()
		}
	})

	return s, name
}

// propagation limits how long each part of a server does not know a new namespace and its search attributes.
const propagation = `system.namespaceCacheRefreshInterval="1s"`

func (s *Server) namespace() string { return fmt.Sprintf("test-%d", s.serial) }

// Own starts a server with the test's own configuration, such as "limit.historyCount.suggestContinueAsNew=40".
func Own(t testing.TB, dynamic ...string) *Server {
	t.Helper()
	s, err := start(dynamic...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// Stop stops the servers that Take and Namespace have started.
func Stop() {
	for {
		select {
		case s := <-idle:
			s.stop()
		case s := <-spaced:
			s.stop()
		default:
			return
		}
	}
}

// punctual limits the delay of timers and retries; by default a server delays them by up to a second.
const punctual = `history.timerProcessorMaxTimeShift="10ms"`

func start(dynamic ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "stagecoach-temporal-")
	if err != nil {
		return nil, err
	}

	ctx := context.Background() // longer than the test that needs it first
	s := &Server{dir: dir}
	s.Temporal, err = servers.StartTemporal(
		ctx,
		servers.TemporalOptions{DBFile: filepath.Join(dir, "temporal.db"), UIPort: -1, Dynamic: append(dynamic, punctual)},
	)
	if err == nil {
		s.Client, err = client.Dial(client.Options{HostPort: s.Address, Logger: slog.New(slog.DiscardHandler)})
	}

	if err == nil {
		_, err = temporalio.EnsureSearchAttributes(ctx, s.Client, client.DefaultNamespace)
	}

	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) stop() {
	if s.Client != nil {
		s.Client.Close()
	}
	if s.Temporal != nil {
		s.Kill()
	}
	_ = os.RemoveAll(s.dir)
}
