// Package stack starts Stagecoach with all its dependencies: the one way to do so.
package stack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stagecoach/internal/devinfo"
	"stagecoach/starter/terminal"
)

const readyTime = time.Minute

// Stack is everything that dev runs: worker and API, in this process or in their own, and their dependencies.
type Stack struct {
	Ground
	State    string // absolute path of the state folder
	Cluster  bool   // Temporal is a cluster, and our services are several processes
	Screen   *terminal.Screen
	broken   context.CancelCauseFunc // called when a part ends by itself
	kept     kept
	Info     devinfo.Info
	Torrents torrents
	Library  string // the library folder

	Began       time.Time // of this run: when Start was called
	RecordSince time.Time // when the database first saw the demo user; identifies the database

	logs map[string]*os.File
}

// New returns a stack that keeps its state in the folder state, and calls broken when a part of it ends by itself. The
// caller may choose a cluster before the start.
func New(state string, screen *terminal.Screen, broken context.CancelCauseFunc) *Stack {
	s := &Stack{State: state, Screen: screen, broken: broken}
	s.port = s.kept.Ports.of
	s.ended = func(name string) {
		broken(fmt.Errorf("%s has ended by itself (see %s)", name, s.Shown(s.logFile(strings.ToLower(name)))))
	}
	return s
}

// Start starts all parts, in the order of their dependencies. The caller stops them with Stop, even after an error.
func (s *Stack) Start(ctx context.Context) (err error) {
	s.Began = time.Now()
	if err := s.openLogs(); err != nil {
		return err
	}
	if s.kept, err = loadKept(s.State); err != nil {
		return err
	}
	if s.Key, err = s.kept.key(); err != nil {
		return err
	}
	s.AdminToken = s.kept.AdminToken

	if err := s.StartWebSeed(); err != nil { // it takes its port while nothing else is choosing one
		return err
	}
	tokens, err := s.startServers(ctx)
	if err != nil {
		return err
	}
	if err := s.startStandIns(ctx, tokens); err != nil {
		return err
	}

	of, err := s.settings()
	if err != nil {
		return err
	}

	start := s.startServices
	if s.Cluster {
		start = func(of settings) error { return s.startProcesses(ctx, of) }
	}
	if err := start(of); err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	if err := s.kept.save(s.State); err != nil {
		return err
	}

	return devinfo.WritePrivate(filepath.Join(s.State, devinfo.File), s.Info)
}

// Stop stops all parts, in reverse order.
func (s *Stack) Stop() error {
	if len(s.parts) == 0 {
		return nil
	}

	began := time.Now()
	s.Screen.Draw()
	s.Screen.Say("Stopping …")
	problems := []error{s.Close()}

	for _, file := range s.logs {
		problems = append(problems, file.Close())
	}

	s.Screen.Say("Stopped after %s. The next start with this state goes on from here.", terminal.Took(time.Since(began)))
	return errors.Join(problems...)
}

// openLogs opens the logs of all parts for appending.
func (s *Stack) openLogs() error {
	if err := os.MkdirAll(s.LogDir(), 0o755); err != nil {
		return err
	}

	s.logs = map[string]*os.File{}
	for _, name := range append([]string{"postgresql", "temporal", "qbittorrent"}, s.services()...) {
		file, err := os.OpenFile(s.logFile(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		s.logs[name] = file
	}

	return nil
}

// services lists the names of our services, for logs.
func (s *Stack) services() []string {
	if !s.Cluster {
		return []string{"worker", "api"}
	}
	var names []string
	for _, p := range Fleet() {
		names = append(names, p.Name)
	}
	return names
}

func (s *Stack) LogDir() string { return filepath.Join(s.State, "log") }

func (s *Stack) logFile(name string) string { return filepath.Join(s.LogDir(), name+".log") }

// awaitReady waits until the API is ready.
func (s *Stack) awaitReady(ctx context.Context) error {
	s.Screen.Draw("  the API gets ready")
	defer s.Screen.Draw()

	ctx, cancel := context.WithTimeoutCause(ctx, readyTime,
		fmt.Errorf("the API is not ready after %s: see %s", terminal.Took(readyTime), s.Shown(s.logFile("api"))))
	defer cancel()

	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Info.API+"/ready", nil)
		if err != nil {
			return err
		}

		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// DropFolder is the folder of the simulated Yandex.
func (s *Stack) DropFolder() string { return filepath.Join(s.State, "yandex") }

// Shown shortens the name of a file for a person in the current folder.
func (s *Stack) Shown(full string) string {
	here, err := os.Getwd()
	if err != nil {
		return full
	}
	brief, err := filepath.Rel(here, full)
	if err != nil || len(brief) > len(full) {
		return full
	}
	return brief
}

// ChatURL shows what the demo user's chat has received.
func (s *Stack) ChatURL() string {
	return fmt.Sprintf("%s/_/chats/%d", s.StandIns.Telegram, DemoUser)
}
