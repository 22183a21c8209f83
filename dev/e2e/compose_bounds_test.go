package e2e

import (
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// composedNetworks are the networks of a service with its aliases there.
type composedNetworks map[string]struct{ Aliases []string }

// UnmarshalYAML accepts the short form, a list of names, as well as the long one.
func (n *composedNetworks) UnmarshalYAML(node *yaml.Node) error {
	type plain composedNetworks
	if node.Kind == yaml.MappingNode {
		return node.Decode((*plain)(n))
	}

	var names []string
	err := node.Decode(&names)
	*n = composedNetworks{}
	for _, name := range names {
		(*n)[name] = struct{ Aliases []string }{}
	}
	return err
}

// TestComposeBoundsEveryService checks that every service has limited capabilities, processes and logs, and that all
// write only to their volumes, except those to which Compose must pass secrets, and some third-party ones.
func TestComposeBoundsEveryService(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	beginsAsRoot := []string{"postgres", "telegram-bot-api", "spool-owner", "qbittorrent"}
	writes := []string{"qbittorrent"} // its own settings
	c := readCompose(t, values)
	for name, service := range c.Services {
		given := len(service.Secrets) > 0
		for _, config := range service.Configs {
			given = given || c.Configs[config.Source].Content != ""
		}
		if !given && !service.ReadOnly && !slices.Contains(writes, name) || given && service.ReadOnly {
			t.Errorf("%s: its file system is read-only: %v, has secrets: %v", name, service.ReadOnly, given)
		}
		if !slices.Equal(service.CapDrop, []string{"ALL"}) || !slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s: capabilities %v are dropped, with %v", name, service.CapDrop, service.SecurityOpt)
		}
		if len(service.CapAdd) > 0 && !slices.Contains(beginsAsRoot, name) {
			t.Errorf("%s has the capabilities %v", name, service.CapAdd)
		}
		if service.PidsLimit == 0 || service.Logging.Driver != "local" {
			t.Errorf("%s: at most %d processes, logs by %q", name, service.PidsLimit, service.Logging.Driver)
		}
	}
}

// TestPrometheusFindsEveryProcess checks that each of our services has a name under which Prometheus finds all
// processes of its kind, including those of the profile scale.
func TestPrometheusFindsEveryProcess(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/prometheus/prometheus.yml")
	must(t, err)
	var prometheus struct {
		Jobs []struct {
			DNS []struct{ Names []string } `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	must(t, yaml.Unmarshal(text, &prometheus))
	var asked []string
	for _, job := range prometheus.Jobs {
		for _, dns := range job.DNS {
			asked = append(asked, dns.Names...)
		}
	}

	values, _ := readEnv(t, ".env.example")
	scraped := 0
	for name, service := range readCompose(t, values).Services {
		if command := service.Command; len(command) != 1 || command[0] != "worker" && command[0] != "api" {
			continue
		}
		scraped++
		metrics, there := service.Networks["metrics"]
		known := append(metrics.Aliases, name)
		if !there || !slices.ContainsFunc(known, func(name string) bool { return slices.Contains(asked, name) }) {
			t.Errorf("Prometheus asks for %v, and %s is %v", asked, name, known)
		}
	}
	if scraped != 6 {
		t.Errorf("%d services of ours, want 6", scraped)
	}
}
