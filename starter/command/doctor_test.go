package command

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// setDoctor returns the environment of a program whose systems are all unreachable.
func setDoctor(t *testing.T) (secrets []string) {
	t.Helper()
	const nobody, token, password = "http://127.0.0.1:1", "7000000001:" + "AAs3cr3tBotTokens3cr3tBotToken01234", "s3cr3t-password"
	for name, value := range map[string]string{
		"DATABASE_URL":                    "postgres://us:s3cr3t@127.0.0.1:1/ours",
		"TEMPORAL_ADDRESS":                "127.0.0.1:1",
		"STAGECOACH_ENCRYPTION_KEY":       base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s3cr3tk!", 4))),
		"STAGECOACH_TELEGRAM_TOKEN":       token,
		"STAGECOACH_TELEGRAM_API_URL":     nobody,
		"STAGECOACH_QBITTORRENT_URL":      nobody,
		"STAGECOACH_QBITTORRENT_USERNAME": "us",
		"STAGECOACH_QBITTORRENT_PASSWORD": password,
		"STAGECOACH_OIDC_ISSUER":          nobody,
		"STAGECOACH_OIDC_CLIENT_ID":       "us",
		"STAGECOACH_OIDC_CLIENT_SECRET":   password,
	} {
		t.Setenv(name, value)
	}
	return []string{"s3cr3t", token, password}
}

// TestDoctorChecksAProgramsSettings examines a worker and an API whose systems are all unreachable: each system has a
// line and advice, and no secret is shown.
func TestDoctorChecksAProgramsSettings(t *testing.T) {
	secrets := setDoctor(t)
	for program, systems := range map[string][]string{
		"worker": {`postgresql +unreachable`, `temporal +unreachable`, `telegram +unreachable`, `yandex +unreachable`, `qbittorrent +unreachable`, `wallet +off`},
		"api":    {`postgresql +unreachable`, `temporal +unreachable`, `telegram +unreachable`, `yandex +unreachable`, `oidc +unreachable`},
	} {
		code, out, errs := starter(t, "doctor", program)
		if code != 1 || !strings.Contains(errs, "not everything that is configured works") {
			t.Errorf("%s: exit code %d, errors %q", program, code, errs)
		}

		for _, system := range systems {
			if !regexp.MustCompile(`(?m)^` + system).MatchString(out) {
				t.Errorf("%s: %q is not in\n%s", program, system, out)
			}
		}
		if !strings.Contains(out, "next: telegram: TELEGRAM_UNAVAILABLE see whether it runs") {
			t.Errorf("%s: no advice in\n%s", program, out)
		}
		for _, secret := range secrets {
			if strings.Contains(out+errs, secret) {
				t.Errorf("%s shows a secret: %s %s", program, out, errs)
			}
		}
	}

	code, out, _ := starter(t, "doctor", "api", "--json")
	var found struct {
		Works  bool `json:"works"`
		Checks []struct{ System, State, Code, Next string }
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != 1 || found.Works || len(found.Checks) < 4 {
		t.Errorf("--json: exit code %d, %v, %s", code, err, out)
	}
}

// TestDoctorNeedsSettings names the invalid program or setting.
func TestDoctorNeedsSettings(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"doctor"}, "PROGRAM"},
		{[]string{"doctor", "nurse"}, "must be worker or api"},
		{[]string{"doctor", "worker"}, "DATABASE_URL"},
	} {
		if code, out, errs := starter(t, c.args...); code != 2 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, output %q, errors %q", c.args, code, out, errs)
		}
	}
}
