package stack

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stagecoach/dev/servers"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/terminal"
)

// Process is one of our processes in a cluster.
type Process struct {
	Name    string
	Program string            // worker or api
	Differs map[string]string // settings that others do not have
}

// walletSettings are secrets of the payments process; no other process has them.
var walletSettings = []string{"STAGECOACH_TON_KEY", "STAGECOACH_FRAGMENT_COOKIES"}

// Fleet lists our processes in a cluster: three workers, two APIs, of which one runs the bot, and a worker just for
// payments.
func Fleet() []Process {
	var fleet []Process
	for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
		fleet = append(fleet, Process{name, "worker", withoutWallet(map[string]string{
			"STAGECOACH_WORKER_QUEUES": strings.Join(usersQueues(), ","),
		})})
	}

	return append(fleet,
		Process{"payments", "worker", map[string]string{
			"STAGECOACH_WORKER_QUEUES": strings.Join(lifecycle.PaymentQueues, ","),
		}},
		Process{"api-1", "api", withoutWallet(nil)},
		Process{"api-2", "api", withoutWallet(map[string]string{"STAGECOACH_BOT": "false"})},
	)
}

// usersQueues are all queues except those of payments.
func usersQueues() []string {
	return slices.DeleteFunc(lifecycle.Queues(), func(queue string) bool {
		return slices.Contains(lifecycle.PaymentQueues, queue)
	})
}

func withoutWallet(settings map[string]string) map[string]string {
	without := map[string]string{}
	for _, name := range walletSettings {
		without[name], without[name+"_FILE"] = "", ""
	}
	maps.Copy(without, settings)
	return without
}

// With returns the environment of the process, in a cluster with these settings.
func (p Process) With(settings map[string]string) map[string]string {
	all := maps.Clone(settings)
	maps.Copy(all, p.Differs)
	return all
}

// startTemporalCluster starts the services of Temporal.
func (s *Stack) startTemporalCluster(ctx context.Context) error {
	began := time.Now()
	cluster, err := s.StartCluster(ctx, servers.ClusterOptions{
		Dir: filepath.Join(s.State, "temporal"), Log: s.logs["temporal"],
		Port: s.kept.Ports.Temporal, UIPort: s.kept.Ports.WebUI, Progress: s.showStep,
	})
	if err != nil {
		return err
	}

	s.Screen.Say("  Temporal     four services, %s, ready in %s", cluster.Address, terminal.Took(time.Since(began)))
	return s.useTemporal(cluster.Address, cluster.WebUI)
}

// common is what the environments of all processes have in common.
func (s *Stack) common(of settings) map[string]string {
	env := map[string]string{"TEMPORAL_ADDRESS": s.Temporal, "TEMPORAL_NAMESPACE": "default"}
	for _, name := range settingNames() {
		if value, ok := of(name); ok {
			env[name] = value
		}
	}
	return env
}

// startProcesses builds our programs and starts the processes of a cluster.
func (s *Stack) startProcesses(ctx context.Context, of settings) error {
	s.showStep("building worker and api")
	programs := Programs{Dir: filepath.Join(s.State, "bin")}
	if err := programs.Build(ctx, "worker", "api"); err != nil {
		return err
	}

	port, err := servers.PreferPort(s.kept.Ports.API2)
	if err != nil {
		return err
	}
	s.kept.Ports.API2 = port

	for _, p := range Fleet() {
		env := p.With(s.common(of))
		if p.Name == "api-2" {
			env["STAGECOACH_API_ADDR"], env["STAGECOACH_API_METRICS_ADDR"] = loopback(port), "off"
		}

		child, err := programs.Start(p.Program, env, s.logs[p.Name])
		if err != nil {
			return err
		}
		s.startedServer(p.Name, child.Done(), func() error { child.Stop(); return nil })
	}
	return nil
}
