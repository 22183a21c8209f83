package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
)

// composeConfig returns the content of a file that docker-compose.yml gives to a container.
func composeConfig(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docker-compose.yml")
	must(t, err)
	var c struct {
		Configs map[string]struct{ File string }
	}
	must(t, yaml.Unmarshal(text, &c))
	text, err = os.ReadFile("../../" + c.Configs[name].File)
	must(t, err)
	return string(text)
}

// TestSampleValuesStopTheServices tries each sample secret of .env.example: our programs refuse it, or the service that
// uses it does not start.
func TestSampleValuesStopTheServices(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	c := readCompose(t, values)
	ours := []string{"TELEGRAM_API_HASH"} // protects nothing of ours
	for _, setting := range config.Settings() {
		ours = append(ours, setting.Name)
	}

	refused := map[string]bool{}
	for name, service := range c.Services {
		if len(service.Entrypoint) < 2 || service.Entrypoint[1] != "/refuse-sample.sh" {
			continue
		}
		variables := service.Entrypoint[2:slices.Index(service.Entrypoint, "--")]
		for _, variable := range variables {
			source := strings.ToLower(variable)
			given := slices.ContainsFunc(service.Secrets, func(s composedSecret) bool { return s.Source == source })
			if !given || c.Secrets[source].Environment != variable {
				t.Errorf("%s looks at %s for %s", name, source, variable)
			}
			refused[variable] = true
		}
	}

	for variable, value := range values {
		if strings.Contains(value, "change-me") && !slices.Contains(ours, variable) && !refused[variable] {
			t.Errorf("the sample value of %s stops nothing", variable)
		}
	}

	dir := t.TempDir()
	script, secret := filepath.Join(dir, "refuse-sample.sh"), filepath.Join(dir, "second_password")
	must(t, os.WriteFile(script, []byte(strings.ReplaceAll(composeConfig(t, "refuse_sample"), "/run/secrets", dir)), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "first_password"), []byte("kept to ourselves"), 0o600))
	for value, starts := range map[string]bool{"": false, "change-me-1": false, values["GRAFANA_PASSWORD"]: false, "kept to ourselves": true} {
		must(t, os.WriteFile(secret, []byte(value), 0o600))
		out, err := exec.CommandContext(
			t.Context(), "sh", script, "FIRST_PASSWORD", "SECOND_PASSWORD", "--", "echo", "runs with", "its words",
		).CombinedOutput()
		said := string(out)
		if starts != (err == nil && said == "runs with its words\n") || !starts && !strings.HasPrefix(said, "SECOND_PASSWORD is ") {
			t.Errorf("with %q: %v, %s", value, err, said)
		}
	}
}

// TestPaymentsHoldNoOthersSecrets checks what the process with the wallet's key is given: only this key, the settings
// that every process needs, and its own role in PostgreSQL.
func TestPaymentsHoldNoOthersSecrets(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.dev")
	values["WALLET_DATABASE_PASSWORD"] = "of-the-wallet"
	c := readCompose(t, values)
	payments := c.Services["payments"]
	want := []string{"fragment_cookies", "payload_keys", "ton_key", "toncenter_api_key"}

	var got []string
	for _, secret := range payments.Secrets {
		got = append(got, secret.Source)
	}

	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("payments holds %v, want %v", got, want)
	}

	role := c.Services["migrate"].Command[len(c.Services["migrate"].Command)-1]
	if address := c.Configs[payments.Configs[0].Source].Content; !strings.HasPrefix(address, "postgres://"+role+":of-the-wallet@") {
		t.Errorf("payments has the database %s, want the role %s and a password of its own", address, role)
	}

	for name, file := range payments.Environment {
		if source, secret := strings.CutPrefix(file, "/run/secrets/"); secret && file != payments.Configs[0].Target && !slices.Contains(got, source) {
			t.Errorf("%s names %s, which is not there", name, file)
		}
	}
}

// TestServicesHoldNoSecretOfAnotherProgram checks that a service only has a secret if its program reads it: a worker
// never has the administrator's token, and an API has neither the wallet's key nor the password of qBittorrent.
func TestServicesHoldNoSecretOfAnotherProgram(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	for _, setting := range config.Settings() {
		values[setting.Name] = "given" // an empty secret is not passed on
	}
	c := readCompose(t, values)
	const administration = "demo" // creates users through the API, as an administrator

	for name, service := range c.Services {
		if service.Image != ourImage && service.Image != devImage || name == administration {
			continue
		}

		reads := map[string]bool{}
		for _, setting := range config.Settings() {
			program := config.Program(strings.Join(service.Command, " "))
			known := program == config.ForAPI || program == config.ForWorker
			if service.Environment["STAGECOACH_WORKER_QUEUES"] == strings.Join(lifecycle.PaymentQueues, ",") {
				program = config.ForPayments
			}
			reads[setting.Name] = setting.Secret && (known && setting.ReadBy(program) || setting.Name == "DATABASE_URL")
		}

		for _, secret := range service.Secrets {
			if from := c.Secrets[secret.Source].Environment; !reads[from] {
				t.Errorf("%s holds %s, which it does not read", name, from)
			}
		}
		for variable, file := range service.Environment {
			if setting, isFile := strings.CutSuffix(variable, "_FILE"); isFile && file != "" && !reads[setting] {
				t.Errorf("%s is given %s, which it does not read", name, variable)
			}
		}
	}
}

// TestNoEnvironmentHoldsASecret checks that each secret of .env only reaches containers as a file: `docker inspect`
// shows environments and commands.
func TestNoEnvironmentHoldsASecret(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	for _, secret := range readCompose(t, values).Secrets {
		values[secret.Environment] = "secret-" + secret.Environment
	}
	for name, service := range readCompose(t, values).Services {
		if slices.Contains(service.Profiles, "dev") {
			continue // simulators guard nothing
		}
		words := slices.Concat(service.Entrypoint, service.Command, slices.Collect(maps.Values(service.Environment)))
		for _, word := range words {
			if strings.Contains(word, "secret-") {
				t.Errorf("%s shows %s", name, word)
			}
		}
	}
}
