package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"stagecoach/dev/servers"
	"stagecoach/internal/lifecycle"
)

// TestComposeScale checks that the profile scale adds what the services of a cluster need, and that processes of one
// kind differ in nothing else.
func TestComposeScale(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	values["TEMPORAL_SERVICES"] = "frontend"
	c := readCompose(t, values)

	var added, parts []string
	for name, service := range c.Services {
		if slices.Contains(service.Profiles, "scale") {
			added = append(added, name)
		}
		if service.Image == c.Services["temporal"].Image {
			parts = append(parts, service.Environment["TEMPORAL_SERVICES"])
		}
	}

	slices.Sort(added)
	if want := []string{"api-2", "temporal-history", "temporal-matching", "temporal-worker", "worker-2", "worker-3"}; !slices.Equal(added, want) {
		t.Errorf("the profile adds %v, want %v", added, want)
	}
	slices.Sort(parts)
	if want := slices.Sorted(slices.Values(servers.ClusterServices)); !slices.Equal(parts, want) {
		t.Errorf("Temporal's services are %v, want %v", parts, want)
	}

	for name, differs := range map[string]struct {
		from     string
		settings []string
	}{
		"worker-2": {"worker", nil}, "worker-3": {"worker", nil}, "api-2": {"api", []string{"STAGECOACH_BOT"}},
		"temporal-history": {"temporal", []string{"TEMPORAL_SERVICES"}}, "temporal-matching": {"temporal", []string{"TEMPORAL_SERVICES"}},
		"temporal-worker": {"temporal", []string{"TEMPORAL_SERVICES"}},
	} {
		one, other := c.Services[differs.from], c.Services[name]
		for _, setting := range differs.settings {
			if one.Environment[setting] == other.Environment[setting] {
				t.Errorf("%s has the %s of %s", name, setting, differs.from)
			}
		}

		same := maps.Clone(other.Environment)
		for _, setting := range differs.settings {
			same[setting] = one.Environment[setting]
		}
		if !maps.Equal(same, one.Environment) || !slices.Equal(one.Command, other.Command) || !reflect.DeepEqual(one.Secrets, other.Secrets) || one.Image != other.Image {
			t.Errorf("%s differs from %s in more than %v", name, differs.from, differs.settings)
		}
	}
}

// TestComposeTemporalAddress runs the preparation of Temporal's containers: a whole server stays within its container,
// and a service of a cluster announces its address to the others.
func TestComposeTemporalAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"entrypoint": `echo "$TEMPORAL_BROADCAST_ADDRESS $POSTGRES_PWD"`, "hostname": `echo "172.18.0.5 172.19.0.3"`,
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}

	must(t, os.WriteFile(filepath.Join(dir, "postgres_password"), []byte("of-temporal"), 0o600))

	for _, test := range []struct{ inEnv, service, want string }{
		{"", "temporal", "127.0.0.1 of-temporal"},
		{"frontend", "temporal", "172.18.0.5 of-temporal"},
		{"frontend", "temporal-history", "172.18.0.5 of-temporal"},
		{"", "temporal-history", "needs TEMPORAL_SERVICES=frontend"},
	} {
		values, _ := readEnv(t, ".env.example")
		values["TEMPORAL_SERVICES"] = test.inEnv
		environment := readCompose(t, values).Services[test.service].Environment
		script := strings.NewReplacer("/etc/temporal/entrypoint.sh", filepath.Join(dir, "entrypoint"), "/run/secrets", dir).
			Replace(composeConfig(t, "temporal_start"))
		command := exec.Command("sh", "-c", script)
		command.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		for _, name := range []string{"LAYOUT", "TEMPORAL_SERVICES"} {
			command.Env = append(command.Env, name+"="+environment[name])
		}
		out, err := command.CombinedOutput()
		if got := strings.TrimSpace(string(out)); !strings.Contains(got, test.want) || (err == nil) != strings.HasPrefix(test.want, "1") {
			t.Errorf("TEMPORAL_SERVICES=%s %s: %q, %v, want %q", test.inEnv, test.service, got, err, test.want)
		}
	}
}

// TestComposePartitions checks that exactly the queues in which users take turns have one partition.
func TestComposePartitions(t *testing.T) {
	t.Parallel()
	var dynamic map[string][]struct {
		Value       any
		Constraints struct {
			TaskQueueName string `yaml:"taskQueueName"`
		}
	}
	must(t, yaml.Unmarshal([]byte(composeConfig(t, "temporal_settings")), &dynamic))

	for _, limit := range []string{"matching.numTaskqueueReadPartitions", "matching.numTaskqueueWritePartitions"} {
		var queues []string
		for _, of := range dynamic[limit] {
			if of.Value != 1 {
				t.Errorf("%s of %s is %v", limit, of.Constraints.TaskQueueName, of.Value)
			}
			queues = append(queues, of.Constraints.TaskQueueName)
		}
		if !slices.Equal(queues, lifecycle.FairQueues()) {
			t.Errorf("%s: %v, want %v", limit, queues, lifecycle.FairQueues())
		}
	}
}
