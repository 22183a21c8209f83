package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/config"
)

// The images built by the Dockerfile: their services are tested here with the commands of the compose file.
const (
	ourImage = "stagecoach:0.2.0"
	devImage = "stagecoach-dev:0.2.0"
)

// composed is docker-compose.yml with the variables of one environment.
type composed struct {
	Services map[string]composedService
	Networks map[string]struct{ Internal bool }
	Secrets  map[string]struct{ Environment string }
	Configs  map[string]struct{ Content string }
}

type composedService struct {
	Image       string
	Build       struct{ Target string }
	Entrypoint  []string
	Command     []string
	Profiles    []string
	Networks    composedNetworks
	NetworkMode string `yaml:"network_mode"`
	Restart     string
	MemLimit    string `yaml:"mem_limit"`
	EnvFile     string `yaml:"env_file"`
	Environment map[string]string
	Secrets     []composedSecret
	Configs     []struct{ Source, Target string }
	ReadOnly    bool `yaml:"read_only"`
	Ports       []string
	Healthcheck struct{ Test []string }
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	SecurityOpt []string `yaml:"security_opt"`
	PidsLimit   int      `yaml:"pids_limit"`
	Logging     struct{ Driver string }
}

type composedSecret struct{ Source string }

// UnmarshalYAML accepts the short form, just the name, as well as the long one.
func (s *composedSecret) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		s.Source = node.Value
		return nil
	}
	var long struct{ Source string }
	err := node.Decode(&long)
	s.Source = long.Source
	return err
}

var variable = regexp.MustCompile(`\$\$|\$\{(\w+)(?::([-?+])([^}]*))?\}`)

// readCompose reads the file with that environment, as the compose tool does.
func readCompose(t *testing.T, env map[string]string) (c composed) {
	t.Helper()
	text, err := os.ReadFile("../../docker-compose.yml")
	must(t, err)
	must(t, yaml.Unmarshal([]byte(interpolate(t, string(text), env)), &c))

	for _, service := range c.Services {
		if service.EnvFile == "" {
			continue
		}
		text, err := os.ReadFile("../../" + service.EnvFile)
		must(t, err)
		for line := range strings.Lines(interpolate(t, string(text), env)) {
			name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if _, own := service.Environment[name]; ok && !own {
				service.Environment[name] = value
			}
		}
	}
	return c
}

// interpolate replaces the variables in a text as the compose tool does.
func interpolate(t *testing.T, text string, env map[string]string) string {
	t.Helper()
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		value := env[parts[1]]
		switch {
		case found == "$$":
			return "$"
		case value == "" && parts[2] == "?":
			t.Errorf("%s is required and not there", parts[1])
		case value == "" && parts[2] == "-", value != "" && parts[2] == "+":
			return parts[3]
		}

		return value
	})
}

// readEnv reads a file of variables; known are those that it names, commented out or not.
func readEnv(t *testing.T, name string) (values map[string]string, known []string) {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	must(t, err)
	values = map[string]string{}

	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			continue
		}
		known = append(known, strings.TrimPrefix(key, "# "))
		if !strings.HasPrefix(key, "#") {
			values[key] = value
		}
	}

	return values, known
}

// TestComposeFileAndItsVariables checks that the example names every variable, and that what services refer to exists.
func TestComposeFileAndItsVariables(t *testing.T) {
	t.Parallel()
	values, known := readEnv(t, ".env.example")
	c := readCompose(t, values)
	text, err := os.ReadFile("../../docker-compose.yml")
	must(t, err)
	settings, err := os.ReadFile("../../" + c.Services["worker"].EnvFile)
	must(t, err)
	// The addresses of the real systems are the defaults; others are for the demo.
	elsewhere := []string{
		"STAGECOACH_YANDEX_API_URL", "STAGECOACH_YANDEX_TOKEN_URL", "STAGECOACH_TONCENTER_URL", "STAGECOACH_FRAGMENT_URL",
	}

	for _, parts := range variable.FindAllStringSubmatch(string(text)+string(settings), -1) {
		if parts[1] != "" && !slices.Contains(known, parts[1]) && !slices.Contains(elsewhere, parts[1]) {
			t.Errorf("%s is not in .env.example", parts[1])
		}
	}

	// The compose tool starts no service with a secret whose variable is unset; it may be empty.
	for _, file := range []string{".env.example", ".env.dev"} {
		set, _ := readEnv(t, file)
		for name, secret := range c.Secrets {
			if _, ok := set[secret.Environment]; !ok {
				t.Errorf("the secret %s comes from %s, which is not set in %s", name, secret.Environment, file)
			}
		}
	}

	profiles := []string{"telegram", "downloads", "backup", "observability", "dev", "scale"}
	for name, service := range c.Services {
		for _, profile := range service.Profiles {
			if !slices.Contains(profiles, profile) {
				t.Errorf("%s: nobody knows of the profile %q", name, profile)
			}
		}

		for _, secret := range service.Secrets {
			if _, there := c.Secrets[secret.Source]; !there {
				t.Errorf("%s: there is no secret %q", name, secret.Source)
			}
		}
	}
}

// TestComposeBoundsMemory checks that each permanent service has a memory limit, and that Go knows the limit of ours.
func TestComposeBoundsMemory(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	c := readCompose(t, values)

	for name, service := range c.Services {
		if service.Restart == "unless-stopped" && service.MemLimit == "" {
			t.Errorf("%s has no limit of memory", name)
		}
	}

	for _, name := range []string{"worker", "worker-2", "worker-3", "payments", "api", "api-2"} {
		service := c.Services[name]
		var limit, soft int
		_, err := fmt.Sscanf(service.MemLimit, "%dg", &limit)
		must(t, err)
		_, err = fmt.Sscanf(service.Environment["GOMEMLIMIT"], "%dMiB", &soft)
		must(t, err)
		if soft >= limit<<10 {
			t.Errorf("%s: Go may use %d MiB of %d GiB", name, soft, limit)
		}
	}
}

// TestEverySettingCanBeGiven checks that a value in .env reaches our services, a secret as a file.
func TestEverySettingCanBeGiven(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	for _, setting := range config.Settings() {
		values[setting.Name] = "given-" + setting.Name
	}

	c := readCompose(t, values)

	for _, setting := range config.Settings() {
		given := 0
		for _, name := range []string{"worker", "api", "payments"} {
			service := c.Services[name]
			switch file := service.Environment[setting.Name+"_FILE"]; {
			case setting.Secret && slices.ContainsFunc(service.Secrets, func(s composedSecret) bool {
				return file == "/run/secrets/"+s.Source && c.Secrets[s.Source].Environment == setting.Name
			}), !setting.Secret && service.Environment[setting.Name] == values[setting.Name]:
				given++
			}
		}

		if given == 0 && setting.Name != "DATABASE_URL" { // the compose file sets it
			t.Errorf("%s has no effect in .env", setting.Name)
		}
	}
}

// containers run services of the compose file as processes of this machine: the same commands with the same
// environment, but with other addresses and paths.
type containers struct {
	*rig
	composed
	values map[string]string
	traces *collector
	others []string            // replacements in the settings of each service
	own    map[string][]string // addresses that a service listens on itself
	dir    string
}

// composeDemo prepares the environment of the profile dev: an empty database, a Temporal server and folders for the
// volumes.
func composeDemo(t *testing.T) *containers {
	t.Helper()
	s := newRigOn(t, testdb.URL(t), nil) // the profile names no namespace
	must(t, buildDev())
	d := &containers{rig: s, dir: t.TempDir(), own: map[string][]string{}}
	d.values, _ = readEnv(t, ".env.dev")
	d.traces = s.collectTraces()
	d.values["OTEL_EXPORTER_OTLP_ENDPOINT"] = s.env["OTEL_EXPORTER_OTLP_ENDPOINT"]
	d.composed = readCompose(t, d.values)

	database := testdb.Bare(t)
	role, asWallet := testdb.WalletRole(t, database) // as deploy/compose/create-database.sh does
	d.others = []string{
		"/demo.sh", "../../deploy/demo.sh", d.Configs["database_url"].Content, database,
		d.Configs["wallet_database_url"].Content, asWallet, "stagecoach_wallet", role, "temporal:7233", s.temporal.Address,
	}

	for _, place := range []string{
		"api:8080", "api:9092", "worker:9090", "payments:9090", "standin-telegram:8081", "standin-yandex:8082",
		"standin-qbittorrent:8083",
		"standin-toncenter:8084", "standin-fragment:8085", "standin-oidc:8086", "standin-torznab:8089",
	} {
		free, err := servers.FreePort()
		must(t, err)
		address := fmt.Sprintf("127.0.0.1:%d", free)
		d.others = append(d.others, place, address)
		host, port, _ := strings.Cut(place, ":")
		d.own[host] = append(d.own[host], "0.0.0.0:"+port, address, "127.0.0.1:"+port, address)
	}

	for _, folder := range []string{"/standins", "/spool"} {
		must(t, os.Mkdir(d.dir+folder, 0o755))
		d.others = append(d.others, folder, d.dir+folder)
	}
	return d
}

// here returns the replacements for a service's settings on this machine.
func (d *containers) here(name string) *strings.Replacer {
	return strings.NewReplacer(slices.Concat(d.own[name], d.others)...)
}

// command returns the command of a service, ready to run.
func (d *containers) command(name string) *exec.Cmd {
	d.Helper()
	service, there := d.Services[name]
	if !there || service.Image != ourImage && service.Image != devImage {
		d.Fatalf("%s is no service of ours", name)
	}

	secrets := filepath.Join(d.dir, "secrets-"+name)
	must(d, os.RemoveAll(secrets))
	must(d, os.Mkdir(secrets, 0o700))
	for _, secret := range service.Secrets {
		must(
			d,
			os.WriteFile(filepath.Join(secrets, secret.Source), []byte(d.values[d.Secrets[secret.Source].Environment]), 0o400),
		)
	}

	here := d.here(name)
	for _, config := range service.Configs {
		if content := d.Configs[config.Source].Content; content != "" {
			must(d, os.WriteFile(filepath.Join(secrets, filepath.Base(config.Target)), []byte(here.Replace(content)), 0o400))
		}
	}

	var args []string
	for _, arg := range service.Command {
		args = append(args, here.Replace(arg))
	}

	path, err := exec.LookPath(filepath.Join(programs, args[0]))
	if err != nil {
		path, err = exec.LookPath(args[0])
		must(d, err)
	}

	command := exec.Command(path, args[1:]...)
	// As in the Dockerfile.
	image := map[string]string{
		"STAGECOACH_API_ADDR": "0.0.0.0:8080", "STAGECOACH_API_METRICS_ADDR": "0.0.0.0:9092",
		"STAGECOACH_WORKER_METRICS_ADDR": "0.0.0.0:9090", "STAGECOACH_SPOOL_DIR": "/spool",
	}

	for _, env := range []map[string]string{image, service.Environment} {
		for key, value := range env {
			command.Env = append(command.Env, key+"="+strings.ReplaceAll(here.Replace(value), "/run/secrets", secrets))
		}
	}

	command.Env = append(
		command.Env, "PATH="+programs+":"+os.Getenv("PATH"), "ADMIN_TOKEN_FILE="+secrets+"/admin_token", "HOME="+d.dir,
	)
	return command
}

// up starts a permanent service.
func (d *containers) up(name string) *program {
	d.Helper()
	return d.launch(d.command(name))
}

// once runs a service that ends, which must succeed.
func (d *containers) once(name string) {
	d.Helper()
	p := d.up(name)
	wait.Eventually(d, name+" has ended", p.ended)
	if code := p.ProcessState.ExitCode(); code != 0 {
		d.Fatalf("%s ended with code %d", name, code)
	}
}

// healthy waits until the service's own health check passes.
func (d *containers) healthy(name string) {
	d.Helper()
	test := d.Services[name].Healthcheck.Test
	address := d.here(name).Replace(test[len(test)-1])
	wait.Eventually(d, name+" is healthy", func() bool {
		response, err := http.Get(address)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// serves fails the test unless the service serves its metrics under the address that Prometheus scrapes.
func (d *containers) serves(name string, metrics ...string) {
	d.Helper()
	address := "http://" + d.here(name).Replace(map[string]string{
		"worker": "worker:9090", "payments": "payments:9090", "api": "api:9092",
	}[name]) + "/metrics"

	missing := metrics
	defer func() {
		if len(missing) > 0 {
			d.Logf("%s does not serve %q", name, missing)
		}
	}()
	wait.Eventually(d, name+" serves its metrics", func() bool { // row counts may be 15 s old
		text := d.metricsAt(address)
		missing = slices.DeleteFunc(slices.Clone(metrics), func(metric string) bool { return strings.Contains(text, "\n"+metric) })
		return len(missing) == 0
	})
}

// metricsAt reads what is served at an address; empty: nobody answers.
func (d *containers) metricsAt(address string) string {
	d.Helper()
	response, err := http.Get(address)
	if err != nil {
		return ""
	}
	defer response.Body.Close()

	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// TestNightCompose runs our services of `docker compose --env-file .env.dev --profile dev up`.
func TestNightCompose(t *testing.T) {
	t.Parallel()
	night.Only(t)
	d := composeDemo(t)
	d.once("migrate")
	for name, service := range d.Services {
		if strings.HasPrefix(name, "standin-") && service.Image == devImage {
			d.up(name)
		}
	}

	d.up("worker")
	d.up("payments")
	d.up("api")
	d.healthy("worker")
	d.healthy("payments")
	d.healthy("api")
	d.leadsToProvider()
	d.once("migrate") // again, as at each start
	if _, err := exec.LookPath("wget"); err != nil {
		t.Skip("the demo itself needs wget: make test-deps")
	}

	d.once("demo")
	d.serves("worker", "temporal_num_pollers{", "temporal_activity_execution_latency_seconds_bucket{", `task_transitions_total{action="claim"} 1`,
		`tasks_ended_total{state="DONE"} 1`, `downloads_ended_total{result="completed"} 1`)
	d.serves(
		"payments", "temporal_num_pollers{", "transactions_started_total 1", `transactions_ended_total{result="processed"} 1`,
	)
	d.serves("api", "temporal_request_latency_seconds_bucket{", "tasks_created_total 1", `tasks_in_status_current{status="DONE"} 1`,
		"chain_lag_seconds ", "wallet_balance_ton ", "worker_heartbeat_age_seconds ")
	if !strings.Contains(d.log.String(), "== all four ended as expected") {
		t.Error("the demo has not come to its end")
	}

	secrets := []string{"demo_reader", "Noise", d.values["STAGECOACH_TON_KEY"], d.values["STAGECOACH_ADMIN_TOKEN"]}
	d.wantTrace(d.traces, []string{
		"deposit", "StartWorkflow:Transaction", "RunWorkflow:Transaction", "RunActivity:Pay",
		"fragment searchStarsRecipient", "toncenter broadcast",
	}, secrets)

	d.wantTrace(d.traces, []string{"POST /v1/tasks/{id}/claim", "HandleUpdate:claim"}, secrets)
	d.wantTrace(
		d.traces, []string{"POST /v1/downloads", "RunWorkflow:Download", "RunActivity:AddTorrent", "qbittorrent add"},
		secrets,
	)
}
