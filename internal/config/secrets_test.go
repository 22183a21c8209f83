package config

import (
	"bytes"
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSampleSecretsStopTheStart tries each value published in .env.example and .env.dev.
func TestSampleSecretsStopTheStart(t *testing.T) {
	t.Parallel()
	zeros := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for name, values := range map[string][]string{
		"DATABASE_URL":                    {"postgres://stagecoach:change-me-2@postgres:5432/stagecoach"},
		"STAGECOACH_ENCRYPTION_KEY":       {zeros, sevens + "," + zeros, "b25seSBmb3IgdGhlIGRlbW8sIGd1YXJkcyBub3RoaW4="},
		"STAGECOACH_ADMIN_TOKEN":          {"change-me-3", "change-me-3-but-longer-than-32-characters", "sc_dev-administrator-of-the-demonstration"},
		"STAGECOACH_TELEGRAM_TOKEN":       {"1000000:change-me"},
		"STAGECOACH_YANDEX_CLIENT_SECRET": {"change-me"},
		"STAGECOACH_YANDEX_REFRESH_TOKEN": {"change-me"},
		"STAGECOACH_YANDEX_CLIENT_ID":     {"change-me"},
		"STAGECOACH_TON_KEY":              {"5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e"},
	} {
		for _, value := range values {
			env := good()
			env[name] = value
			if _, err := load(env); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), value) {
				t.Errorf("%s with a sample value gave %v", name, err)
			}
		}
	}
}

// TestTheDemoMayUseItsOwnSecrets with its own bot, which only the simulator knows.
func TestTheDemoMayUseItsOwnSecrets(t *testing.T) {
	t.Parallel()
	env := good()
	maps.Copy(env, map[string]string{
		"STAGECOACH_ENCRYPTION_KEY": "b25seSBmb3IgdGhlIGRlbW8sIGd1YXJkcyBub3RoaW4=",
		"STAGECOACH_ADMIN_TOKEN":    "sc_dev-administrator-of-the-demonstration",
		"STAGECOACH_TELEGRAM_TOKEN": "1000000:only-for-the-stand-in-and-its-tests",
	})
	if _, err := load(env); err != nil {
		t.Error(err)
	}
}

// TestShortAdministratorsTokens are rejected; the message shows no part of them.
func TestShortAdministratorsTokens(t *testing.T) {
	t.Parallel()
	env := good()
	env["STAGECOACH_ADMIN_TOKEN"] = "planted" + strings.Repeat("x", 24) // 31 characters
	if _, err := load(env); err == nil || !strings.Contains(err.Error(), "at least 32 characters") || strings.Contains(err.Error(), "planted") {
		t.Errorf("31 characters gave %v", err)
	}
	env["STAGECOACH_ADMIN_TOKEN"] += "x"
	if c, err := load(env); err != nil || c.AdminToken != env["STAGECOACH_ADMIN_TOKEN"] {
		t.Errorf("32 characters gave %v", err)
	}
}

// TestEncryptionKeys keeps their order, with commas or in lines of a file.
func TestEncryptionKeys(t *testing.T) {
	t.Parallel()
	env := good()
	c, err := load(env)
	if err != nil || len(c.EncryptionKeys) != 1 {
		t.Fatalf("one key gave %v", err)
	}

	eights := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{8}, 32))
	env["STAGECOACH_ENCRYPTION_KEY"] = eights + ",\n" + sevens
	c, err = load(env)
	if err != nil || len(c.EncryptionKeys) != 2 || c.EncryptionKeys[0][0] != 8 || c.EncryptionKeys[1][0] != 7 {
		t.Errorf("two keys gave %d, %v", len(c.EncryptionKeys), err)
	}

	env["STAGECOACH_ENCRYPTION_KEY"] = sevens + ",planted"
	if _, err := load(env); err == nil || !strings.Contains(err.Error(), "key 2") || strings.Contains(err.Error(), "planted") {
		t.Errorf("a wrong second key gave %v", err)
	}
}

// TestEmptyValuesDoNotShadowFiles because Compose passes an unset variable as an empty one.
func TestEmptyValuesDoNotShadowFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("1:from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	env := good()
	env["STAGECOACH_TELEGRAM_TOKEN"], env["STAGECOACH_TELEGRAM_TOKEN_FILE"] = "", path
	if c, err := load(env); err != nil || c.Telegram.Token != "1:from-a-file" {
		t.Errorf("an empty value and a file gave %q, %v", c.Telegram.Token, err)
	}

	env = good()
	env["STAGECOACH_TELEGRAM_TOKEN_FILE"], env["STAGECOACH_YANDEX_REFRESH_TOKEN_FILE"] = "", ""
	if c, err := load(env); err != nil || c.Telegram.Token != "1:planted" {
		t.Errorf("an empty name of a file gave %q, %v", c.Telegram.Token, err)
	}
}

// TestProgramsReadNoSecretsOfOthers checks what each program reads from its environment.
func TestProgramsReadNoSecretsOfOthers(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("t", 32)
	env := good()
	env["STAGECOACH_ADMIN_TOKEN"], env["STAGECOACH_QBITTORRENT_PASSWORD"], env["STAGECOACH_TON_KEY"] = token, "q", "k"
	env["STAGECOACH_FRAGMENT_COOKIES_FILE"] = "/there/is/no/such/file"

	var asked []string
	lookup := func(name string) (string, bool) {
		asked = append(asked, name)
		value, ok := env[name]
		return value, ok
	}

	c, err := LoadFor(ForAPI, lookup)
	if err != nil || c.AdminToken != token || c.QBittorrent.Password != "" || c.TON.Key != "" {
		t.Errorf("the API reads %v, with the error %v", c, err)
	}

	asked, env["STAGECOACH_FRAGMENT_COOKIES_FILE"] = nil, ""
	c, err = LoadFor(ForWorker, lookup)
	if err != nil || c.AdminToken != "" || c.QBittorrent.Password != "q" || c.TON.Key != "k" {
		t.Errorf("a worker reads %v, with the error %v", c, err)
	}
	for _, name := range []string{"STAGECOACH_ADMIN_TOKEN", "STAGECOACH_ADMIN_TOKEN_FILE"} {
		if slices.Contains(asked, name) {
			t.Errorf("a worker asks for %s", name)
		}
	}
}
