package servers

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
)

const temporalStartTime = 60 * time.Second

// TemporalOptions says where and how to run the Temporal development server.
type TemporalOptions struct {
	DBFile    string       // keeps all state, created when missing; empty: in memory only
	Port      int          // preferred gRPC port; replaced by a free one when busy; 0 means any
	UIPort    int          // the same for the Web UI; -1 means no Web UI
	Namespace string       // created when missing; empty means "default"
	Dynamic   []string     // more dynamic configuration, each "key=value"
	Log       io.Writer    // gets the server's output; must allow concurrent use; may be nil
	Progress  func(string) // gets messages about long steps, such as a build of the server; may be nil
}

// Temporal is a private Temporal development server.
type Temporal struct {
	Address   string // host:port of the gRPC service
	WebUI     string // URL; empty without Web UI
	Namespace string // the requested one
	Binary    string // path of the program

	child
	options      TemporalOptions
	port, uiPort int
}

// StartTemporal finds or builds the server, starts it and returns when it serves the namespace and the Web UI. The
// context only limits the start; the server runs until Stop or Kill.
func StartTemporal(ctx context.Context, o TemporalOptions) (*Temporal, error) {
	binary, err := FindTemporal(ctx, o.Progress)
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}

	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}

	t := &Temporal{Namespace: o.Namespace, Binary: binary, options: o}
	t.child = child{
		name: "Temporal", launch: t.run,
		end:   func(p *process) error { return p.stop(ask{syscall.SIGTERM, time.Minute}) },
		crash: (*process).kill,
	}

	if o.DBFile != "" {
		file, err := filepath.Abs(o.DBFile)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o700)
		}
		if err != nil {
			return nil, fmt.Errorf("start Temporal: %w", err)
		}
		t.options.DBFile, t.lockFile = file, file+".lock"
	}

	if err := t.startAnywhere(ctx, t.choosePorts); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	return t, nil
}

func (t *Temporal) choosePorts(preferred bool) (port int, err error) {
	uiPort := min(t.options.UIPort, 0) // any, or none
	if preferred {
		port, uiPort = t.options.Port, t.options.UIPort
	}

	if t.port, err = PreferPort(port); err != nil {
		return 0, err
	}
	t.Address = loopback(t.port)

	if uiPort >= 0 {
		t.uiPort, err = PreferPort(uiPort)
		t.WebUI = "http://" + loopback(t.uiPort)
	}
	return t.port, err
}

// run starts the server on the chosen ports.
func (t *Temporal) run(ctx context.Context) (*process, error) {
	args, err := t.arguments()
	if err != nil {
		return nil, err
	}

	process, err := start(command{
		path: t.Binary,
		args: args,
		dir:  "/",
		// The CLI's client variables must not reach the server.
		env:   environment([]string{"TEMPORAL_"}),
		death: syscall.SIGKILL, // its database survives that, and nothing delays it
		log:   t.options.Log,
	})
	if err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(ctx, temporalStartTime)
	defer cancel()

	if err := t.await(ctx, process); err != nil {
		process.kill()
		return nil, err
	}
	return process, nil
}

func (t *Temporal) arguments() ([]string, error) {
	args := []string{
		"server", "start-dev",
		"--ip", "127.0.0.1",
		"--port", strconv.Itoa(t.port),
		"--log-level", "warn",
	}

	if t.uiPort > 0 {
		args = append(args, "--ui-port", strconv.Itoa(t.uiPort))
	} else {
		args = append(args, "--headless")
	}

	// Both ports are unused, but without a flag the server takes them from the range of outgoing connections.
	for _, flag := range []string{"--http-port", "--metrics-port"} {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		args = append(args, flag, strconv.Itoa(port))
	}

	if t.Namespace != client.DefaultNamespace { // the default one always exists
		args = append(args, "--namespace", t.Namespace)
	}

	if t.options.DBFile != "" {
		// Twice as fast; a crash of the server loses nothing.
		args = append(args, "--db-filename", t.options.DBFile,
			"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1")
	}

	for _, value := range append([]string{
		// One partition, because fairness only holds within a partition. These flags cannot name the queues that need it, as
		// a cluster's configuration does.
		"matching.numTaskqueueReadPartitions=1",
		"matching.numTaskqueueWritePartitions=1",
		"matching.useNewMatcher=true", // required by fairness
		"matching.enableFairness=true",
		"frontend.WorkflowPauseEnabled=true",
		"system.enableActivityEagerExecution=true",
		"history.maxInFlightUpdates=0", // no limit
		"limit.maxIDLength=255",        // the default of other servers; the development server's is 1000
	}, t.options.Dynamic...) {
		args = append(args, "--dynamic-config-value", value)
	}

	return args, nil
}
