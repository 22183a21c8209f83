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
	"time"
)

// sevens is a key of 32 bytes.
var sevens = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))

// good is the minimum with which the program starts.
func good() map[string]string {
	return map[string]string{
		"DATABASE_URL":              "postgres://localhost/x",
		"STAGECOACH_ENCRYPTION_KEY": sevens,
		"STAGECOACH_TELEGRAM_TOKEN": "1:planted",
	}
}

func load(env map[string]string) (Config, error) {
	return Load(func(name string) (string, bool) { value, ok := env[name]; return value, ok })
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(good())
	if err != nil {
		t.Fatal(err)
	}
	if c.Delivery.TTL != time.Hour || c.Delivery.JobTimeout != 15*time.Minute || c.Delivery.StorageTimeout != 30*time.Second ||
		c.Delivery.ChunkTimeout != 30*time.Second || c.Delivery.MaxFileSize != 2_097_152_000 || c.Delivery.Mode != "stream" {
		t.Errorf("defaults %+v", c.Delivery)
	}
}

// TestReviewsOfDeposits disables them only if the daily limit was raised as well.
func TestReviewsOfDeposits(t *testing.T) {
	t.Parallel()
	if c, err := load(good()); err != nil || c.Transactions.ReviewFrom != 50_000_000_000 || c.Transactions.ReviewDaily != 500_000_000_000 {
		t.Errorf("by default %+v, %v", c.Transactions, err)
	}

	for _, c := range []struct {
		from, daily, limit string
		good               bool
	}{
		{"0", "500", "", false},
		{"50", "0", "", false},
		{"0", "0", "1000", false},
		{"0", "0", "999", false},
		{"0", "0", "1000.1", true},
		{"0", "0", "0", true},
		{"0.1", "0.1", "", true},
		{"900", "5000", "100", true},
	} {
		env := good()
		env["STAGECOACH_TX_REVIEW_FROM"], env["STAGECOACH_TX_REVIEW_DAILY"], env["STAGECOACH_TX_DAILY_LIMIT"] = c.from, c.daily, c.limit
		_, err := load(env)
		if (err == nil) != c.good || err != nil && !strings.Contains(err.Error(), "STAGECOACH_TX_DAILY_LIMIT") {
			t.Errorf("%+v gave %v", c, err)
		}
	}
}

// TestWrongValues names the variable and what is allowed, and never shows a secret.
func TestWrongValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, says string }{
		"DATABASE_URL":                    {"", "must be set"},
		"STAGECOACH_TELEGRAM_TOKEN":       {"", "STAGECOACH_TELEGRAM_TOKEN_FILE"},
		"STAGECOACH_ENCRYPTION_KEY":       {"planted-secret", "32 bytes"},
		"STAGECOACH_LOG_LEVEL":            {"loud", "debug, info"},
		"STAGECOACH_ADMIN_IDS":            {"1,x", "whole numbers"},
		"STAGECOACH_BOT":                  {"maybe", "true or false"},
		"STAGECOACH_YANDEX_API_URL":       {"disk", "URL"},
		"STAGECOACH_DELIVERY_MODE":        {"pigeon", "stream, spool"},
		"STAGECOACH_DELIVERY_TTL":         {"soon", "duration"},
		"STAGECOACH_DELIVERY_JOB_TIMEOUT": {"-1s", "from 1s"},
		"STAGECOACH_DELIVERY_PARALLEL":    {"0", "from 1"},
		"STAGECOACH_TELEGRAM_RATE":        {"NaN", "number"},
		"STAGECOACH_TON_NETWORK":          {"moon", "mainnet, testnet"},
		"STAGECOACH_TX_PAYMENT_LIMIT":     {"1e3", "GRAM"},
		"STAGECOACH_TX_DAILY_LIMIT":       {"-1", "GRAM"},
		"STAGECOACH_PAYLOAD_KEYS":         {"k1:planted-secret", "entry 1"},
		"STAGECOACH_WEB_UI_URL":           {"here", "URL"},
		"STAGECOACH_TRUSTED_PROXIES":      {"10.0.0.0/8,proxy.example", "networks"},
		"STAGECOACH_WORKER_QUEUES":        {"stagecoach,typo", "payments"},
		"TEMPORAL_DEPLOYMENT_NAME":        {"shop.stagecoach", "dots"},
		"TEMPORAL_WORKER_BUILD_ID":        {"v1:2", "colons"},
	} {
		env := good()
		env[name] = c.value
		_, err := load(env)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s=%q gave %v", name, c.value, err)
		}
	}
}

// TestWorkerVersion accepts the two parts of a worker's version only together.
func TestWorkerVersion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deployment, build, says string
	}{
		"none":            {},
		"both":            {deployment: "shop/stagecoach", build: "v1.2-4f"},
		"without a build": {deployment: "stagecoach", says: "both or none"},
		"without a name":  {build: "v1", says: "both or none"},
	} {
		env := good()
		env["TEMPORAL_DEPLOYMENT_NAME"], env["TEMPORAL_WORKER_BUILD_ID"] = test.deployment, test.build
		c, err := load(env)
		if want := (WorkerVersion{test.deployment, test.build}); test.says == "" && (err != nil || c.Worker.Version != want) {
			t.Errorf("%s: %+v, %v, want %+v", name, c.Worker.Version, err, want)
		}
		if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, want an error that says %q", name, err, test.says)
		}
	}
}

// TestSecretsGoEncrypted rejects plain http to other machines, by the variable's name, unless their host is listed.
func TestSecretsGoEncrypted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"STAGECOACH_TELEGRAM_API_URL", "STAGECOACH_YANDEX_API_URL", "STAGECOACH_YANDEX_TOKEN_URL",
		"STAGECOACH_QBITTORRENT_URL",
		"STAGECOACH_TONCENTER_URL", "STAGECOACH_FRAGMENT_URL", "STAGECOACH_OIDC_ISSUER",
	} {
		for value, allowed := range map[string]bool{
			"https://example.org": true, "http://127.0.0.1:8081": true, "http://[::1]:8081": true, "http://localhost": true,
			"http://inside:8081": true, "http://example.org": false, "http://inside.example.org": false, "http://10.0.0.1": false,
			"http://127.0.0.1.example.org": false,
		} {
			env := good()
			env["STAGECOACH_PLAINTEXT_HOSTS"], env[name] = "other, inside", value
			env["STAGECOACH_OIDC_CLIENT_ID"] = "pages"
			_, err := load(env)
			if allowed != (err == nil) || err != nil && !strings.Contains(err.Error(), name+": must be an https URL") {
				t.Errorf("%s=%s gave %v", name, value, err)
			}
		}
	}
}

// TestAllProblemsAtOnce lets an operator correct everything at once.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := load(map[string]string{"STAGECOACH_BOT": "maybe"})
	for _, name := range []string{"DATABASE_URL", "STAGECOACH_ENCRYPTION_KEY", "STAGECOACH_TELEGRAM_TOKEN", "STAGECOACH_BOT"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
}

// TestPayloadKeys keeps their order, with commas or in lines of a file; two with the same id are rejected.
func TestPayloadKeys(t *testing.T) {
	t.Parallel()
	env := good()
	key := env["STAGECOACH_ENCRYPTION_KEY"]
	c, err := load(env)
	if err != nil || len(c.Payloads.Keys) != 0 || !c.Payloads.Encrypt || c.API.WebUIOrigin != "" {
		t.Errorf("without keys: %+v, %v", c.Payloads, err)
	}

	env["STAGECOACH_PAYLOAD_KEYS"], env["STAGECOACH_WEB_UI_URL"] = "new:"+key+",\nold:"+key+"\n", "https://temporal.example:8233/namespaces"
	c, err = load(env)
	if err != nil || len(c.Payloads.Keys) != 2 || c.Payloads.Keys[0].ID != "new" || len(c.Payloads.Keys[1].Secret) != 32 || c.API.WebUIOrigin != "https://temporal.example:8233" {
		t.Errorf("two keys: %+v, %q, %v", c.Payloads, c.API.WebUIOrigin, err)
	}

	env["STAGECOACH_PAYLOAD_KEYS"] = "a:" + key + ",a:" + key
	if _, err = load(env); err == nil || !strings.Contains(err.Error(), "entry 2") || strings.Contains(err.Error(), key) {
		t.Errorf("an id twice: %v", err)
	}
}

func TestSecretFromFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	env := good()
	delete(env, "STAGECOACH_TELEGRAM_TOKEN")
	env["STAGECOACH_TELEGRAM_TOKEN_FILE"] = path
	for written, want := range map[string]string{
		"1:a-token\n": "1:a-token", "\ufeff1:a-token\r\n": "1:a-token", "\xff\xfe1\x00:\x00a\x00\r\x00\n\x00": "1:a",
		"\xfe\xff\x001\x00:\x00a\x00\n": "1:a", "1\x00:\x00a\x00": "", "1:a\xff": "",
	} {
		if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}

		c, err := load(env)
		if (err == nil) != (want != "") || c.Telegram.Token != want || err != nil && !strings.Contains(err.Error(), "STAGECOACH_TELEGRAM_TOKEN_FILE: the file is neither") {
			t.Errorf("%q: got %q, %v", written, c.Telegram.Token, err)
		}
	}

	env["STAGECOACH_TELEGRAM_TOKEN_FILE"] = path + "-missing"
	if _, err := load(env); err == nil || !strings.Contains(err.Error(), "STAGECOACH_TELEGRAM_TOKEN_FILE") {
		t.Errorf("a missing file gave %v", err)
	}
}

// TestSettingsAreDocumented requires a sentence and a unique name for each.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	var names []string
	for _, setting := range Settings() {
		if setting.Doc == "" || slices.Contains(names, setting.Name) {
			t.Errorf("%s is not explained, or is there twice", setting.Name)
		}
		names = append(names, setting.Name)
	}
}

// TestTransactions reads the settings of the workload that moves money, and leaves the key's file to code that checks
// its permissions.
func TestTransactions(t *testing.T) {
	t.Parallel()
	env := good()
	c, err := load(env)
	if err != nil || c.TON.Key != "" || c.TON.KeyFile != "" ||
		c.Transactions.Refund || c.Transactions.WholeHistory || len(c.Transactions.Allow) != 0 {
		t.Errorf("defaults %+v, %v", c.Transactions, err)
	}

	maps.Copy(env, map[string]string{
		"STAGECOACH_TON_KEY_FILE":     "/nowhere/planted",
		"STAGECOACH_FRAGMENT_COOKIES": "stel_ssid=a; stel_token=b=",
		"STAGECOACH_TX_ALLOW":         "UQa, 0:b",
		"STAGECOACH_TX_PAYMENT_LIMIT": "1,000.5",
	})

	c, err = load(env)
	if err != nil || c.TON.KeyFile != "/nowhere/planted" || c.Fragment.Cookies != "stel_ssid=a; stel_token=b=" ||
		!slices.Equal(c.Transactions.Allow, []string{"UQa", "0:b"}) || c.Transactions.PaymentLimit != 1_000_500_000_000 {
		t.Errorf("got %+v %+v %+v, %v", c.TON, c.Fragment, c.Transactions, err)
	}
}
