package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	frontend = "frontend"
	webUI    = "web UI"

	// A cluster assigns shards to a history service that has just joined, and opens them one after the other.
	clusterStartTime = 3 * time.Minute
)

// ClusterServices are the four services of Temporal, each in its own process in a cluster.
var ClusterServices = []string{frontend, "history", "matching", "worker"}

// ClusterOptions says where and how to run a cluster.
type ClusterOptions struct {
	Dir          string       // holds the configuration, with the password of the database
	DatabaseURL  string       // of any database on a PostgreSQL server whose user may create others
	Port         int          // preferred gRPC port of the frontend; replaced by a free one when busy; 0 means any
	UIPort       int          // the same for the Web UI; -1 means no Web UI
	OnePartition []string     // task queues that have one partition, because users only take turns within a partition
	Log          io.Writer    // gets the services' output; must allow concurrent use; may be nil
	Progress     func(string) // gets messages about long steps, such as a build of the server; may be nil
}

// Cluster is a Temporal server as it runs in production: four services in their own processes, which keep all state in
// PostgreSQL.
type Cluster struct {
	Address string // host:port of the gRPC service
	WebUI   string // URL; empty without Web UI

	options            ClusterOptions
	server, schema, ui string // paths of the programs

	mu        sync.Mutex          // guards the field below
	processes map[string]*process // by service

	ended chan struct{} // closed when a service has ended that nobody stopped
	once  sync.Once     // closes it
}

// StartCluster builds the services if necessary, prepares their databases, starts them and returns when they serve the
// default namespace. The context only limits the start; the services run until Stop.
func StartCluster(ctx context.Context, o ClusterOptions) (*Cluster, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}

	c := &Cluster{options: o, processes: map[string]*process{}, ended: make(chan struct{})}
	if err := c.startAll(ctx); err != nil {
		_ = c.Stop()
		return nil, fmt.Errorf("start the Temporal cluster: %w", err)
	}
	return c, nil
}

func (c *Cluster) startAll(ctx context.Context) (err error) {
	if err := c.findPrograms(ctx); err != nil {
		return err
	}

	if c.options.Dir, err = filepath.Abs(c.options.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(c.options.Dir, 0o700); err != nil {
		return err
	}

	ports, err := choosePorts(c.options.Port)
	if err != nil {
		return err
	}
	c.Address = loopback(ports[0].Port)

	database, err := url.Parse(c.options.DatabaseURL)
	if err != nil {
		return errors.New("the address of the database cannot be read") // the error would show the password
	}
	if err := c.writeConfig(ports, database); err != nil {
		return err
	}
	if err := c.prepareDatabases(ctx, database); err != nil {
		return err
	}

	if err := c.startServices(ctx); err != nil || c.options.UIPort < 0 {
		return err
	}
	return c.startUI(ctx)
}

// findPrograms finds the programs of the cluster, or builds them.
func (c *Cluster) findPrograms(ctx context.Context) error {
	unlock, err := lockPrograms(ctx, c.options.Progress)
	if err != nil {
		return err
	}
	defer unlock()

	for program, path := range map[temporalProgram]*string{
		clusterServer: &c.server, clusterSchema: &c.schema, clusterUI: &c.ui,
	} {
		if program == clusterUI && c.options.UIPort < 0 {
			continue
		}
		if *path, err = program.find(ctx, c.options.Progress); err != nil {
			return err
		}
	}
	return nil
}

// startServices starts the frontend before the others: two services that write their cluster's new address at the same
// time would fail.
func (c *Cluster) startServices(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clusterStartTime)
	defer cancel()

	for _, service := range ClusterServices {
		if err := c.start(service); err != nil {
			return err
		}
		if err := c.awaitFrontend(ctx); err != nil {
			return err
		}
	}
	return c.await(ctx)
}

// prepareDatabases creates the databases, or migrates them to the server's version.
func (c *Cluster) prepareDatabases(ctx context.Context, database *url.URL) error {
	password, _ := database.User.Password()

	var both errgroup.Group
	for _, store := range clusterStores {
		both.Go(func() error {
			for _, step := range [][]string{
				{"create-database"},
				{"setup-schema", "--version", "0.0"},
				{"update-schema", "--schema-name", store.Schema},
			} {
				_, err := run(ctx, command{
					path: c.schema, args: append([]string{"--db", store.Database}, step...), dir: "/",
					env: environment([]string{"SQL_", "TEMPORAL_"},
						"SQL_PLUGIN=postgres12", "SQL_HOST="+database.Hostname(), "SQL_PORT="+database.Port(),
						"SQL_USER="+database.User.Username(), "SQL_PASSWORD="+password),
					death: syscall.SIGKILL,
				})
				if err != nil {
					return fmt.Errorf("%s of %s: %w", step[0], store.Database, err)
				}
			}
			return nil
		})
	}
	if err := both.Wait(); err != nil {
		return err
	}
	return c.forgetHosts(ctx, *database)
}

// forgetHosts removes the addresses of an earlier run, which new services would try to join for 20 s.
func (c *Cluster) forgetHosts(ctx context.Context, database url.URL) error {
	database.Path = clusterStores[0].Database
	conn, err := pgx.Connect(ctx, database.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "DELETE FROM cluster_membership")
	return err
}

// start starts the process of one service, on its ports in the configuration.
func (c *Cluster) start(service string) error {
	return c.startProcess(service, c.server, "cluster", "--allow-no-auth", "start", "--service", service)
}

// startUI starts the Web UI and returns when it answers.
func (c *Cluster) startUI(ctx context.Context) error {
	port, err := PreferPort(c.options.UIPort)
	if err != nil {
		return err
	}
	if err := c.writeUIConfig(port); err != nil {
		return err
	}
	if err := c.startProcess(webUI, c.ui, "ui", "start"); err != nil {
		return err
	}

	c.WebUI = "http://" + loopback(port)
	ctx, cancel := context.WithTimeout(ctx, clusterStartTime)
	defer cancel()
	return c.processOf(webUI).await(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		return webReady(ctx, c.WebUI)
	})
}

// startProcess starts a program with the configuration of that name.
func (c *Cluster) startProcess(service, program, config string, args ...string) error {
	process, err := start(command{
		path:  program,
		args:  append([]string{"--root", c.options.Dir, "--config", ".", "--env", config}, args...),
		dir:   "/",
		env:   environment([]string{"TEMPORAL_"}),
		death: syscall.SIGKILL, // PostgreSQL has its state, and nothing delays it
		log:   c.options.Log,
	})
	if err != nil {
		return err
	}

	c.mu.Lock()
	c.processes[service] = process
	c.mu.Unlock()

	go func() {
		<-process.done
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.processes[service] == process {
			c.once.Do(func() { close(c.ended) })
		}
	}()
	return nil
}

// awaitFrontend returns when the frontend accepts connections.
func (c *Cluster) awaitFrontend(ctx context.Context) error {
	return c.processOf(frontend).awaitPort(ctx, c.Address)
}

// await returns when the cluster serves the default namespace, which it creates.
func (c *Cluster) await(ctx context.Context) error {
	connection, err := client.NewLazyClient(client.Options{
		HostPort: c.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer connection.Close()

	return c.processOf(frontend).await(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		select {
		case <-c.ended:
			return permanentError{c.whatEnded()}
		default:
			return c.ready(ctx, connection)
		}
	})
}

// ready creates the namespace, and queries workflows in it: that needs all services but the worker.
func (c *Cluster) ready(ctx context.Context, connection client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	_, err := connection.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace:                        client.DefaultNamespace,
		WorkflowExecutionRetentionPeriod: durationpb.New(temporalRetention),
	})
	if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); err != nil && !exists {
		return err
	}

	_, err = connection.DescribeTaskQueue(ctx, "ready", 0)
	if err != nil {
		return err
	}
	_, err = connection.DescribeWorkflowExecution(ctx, "ready", "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return nil
	}
	return err
}

// whatEnded describes a service that has ended by itself.
func (c *Cluster) whatEnded() error {
	for _, service := range ClusterServices {
		if p := c.processOf(service); p != nil {
			select {
			case <-p.done:
				return fmt.Errorf("the %s service: %w", service, p.exited())
			default:
			}
		}
	}
	return errors.New("a service has ended")
}

func (c *Cluster) processOf(service string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[service]
}

// forget returns the process of a service, whose end is expected from now on.
func (c *Cluster) forget(service string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.processes[service]
	delete(c.processes, service)
	return p
}

// Kill ends one service immediately, as a crash does.
func (c *Cluster) Kill(service string) {
	if p := c.forget(service); p != nil {
		p.kill()
	}
}

// Restart starts a killed service, on its ports, and returns when the cluster serves its namespace.
func (c *Cluster) Restart(ctx context.Context, service string) error {
	c.Kill(service)
	if err := c.start(service); err != nil {
		return fmt.Errorf("restart the %s service of Temporal: %w", service, err)
	}

	ctx, cancel := context.WithTimeout(ctx, clusterStartTime)
	defer cancel()

	// A plain connection comes first: a gRPC client that was refused once waits a second before it retries.
	if err := c.awaitFrontend(ctx); err != nil {
		return err
	}
	return c.await(ctx)
}

// Stop ends all processes, in reverse order of their start. On a stopped cluster it is a no-op.
func (c *Cluster) Stop() error {
	var problems []error
	for _, service := range slices.Backward(append(slices.Clone(ClusterServices), webUI)) {
		if p := c.forget(service); p != nil {
			problems = append(problems, p.stop(ask{syscall.SIGTERM, 20 * time.Second}))
		}
	}
	return errors.Join(problems...)
}

// Done is closed when a service has ended by itself.
func (c *Cluster) Done() <-chan struct{} { return c.ended }
