package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// secretKinds are patterns of what must not be in the repository.
var secretKinds = map[string]*regexp.Regexp{
	"a private key":             regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`),
	"a token of a Telegram bot": regexp.MustCompile(`\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b`),
	"an API token of ours":      regexp.MustCompile(`\bsc_[a-z2-7]{32}\b`),
	"a token of GitHub":         regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36}\b`),
	"a key of AWS":              regexp.MustCompile(`\bAKIA[0-9A-Z]{16}\b`),
	"an OAuth token of Yandex":  regexp.MustCompile(`\by[0-3]_[A-Za-z0-9_-]{50,}`),
	"words of a wallet":         regexp.MustCompile(`\b[a-z]{3,8}( [a-z]{3,8}){23}\b["'\x60]`),
	"a session of Fragment":     regexp.MustCompile(`stel_ssid=[0-9a-f]{18}_[0-9]{10,}`),
	"a password in an address":  regexp.MustCompile(`postgres(ql)?://[^:/\s$]+:[A-Za-z0-9+/]{20,}@`),
	"a filled-in secret": regexp.MustCompile(
		`(?m)^\s*(export )?STAGECOACH_(ENCRYPTION_KEY|ADMIN_TOKEN|TELEGRAM_TOKEN|TON_KEY|FRAGMENT_COOKIES|YANDEX_[A-Z]*TOKEN)=[A-Za-z0-9+/=:_.;-]{24,}`),
}

// harmless are strings in test fixtures and samples that look like secrets and protect nothing.
var harmless = map[string][]string{
	".env.dev":                         {"a filled-in secret"},
	".env.example":                     {"a filled-in secret"},
	"api/bot/rig_test.go":              {"a token of a Telegram bot"},
	"dev/bench/rig.go":                 {"a token of a Telegram bot"},
	"dev/e2e/rig_test.go":              {"a token of a Telegram bot"},
	"internal/telegram/errors_test.go": {"a token of a Telegram bot"},
	"internal/ton/wallet_test.go":      {"words of a wallet"},
}

// secretsIn returns the kinds of secrets in a text.
func secretsIn(text string) (kinds []string) {
	for kind, pattern := range secretKinds {
		if pattern.MatchString(text) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// TestNoSecretsInTheRepository searches every file that git would add.
func TestNoSecretsInTheRepository(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	git := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir = root
	out, err := git.Output()
	if err != nil {
		t.Skipf("this is no repository: %v", err)
	}

	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil { // deleted, or a link to a folder
			continue
		}
		for _, kind := range secretsIn(string(content)) {
			if !slices.Contains(harmless[name], kind) {
				t.Errorf("%s holds what looks like %s", name, kind)
			}
		}
	}
}

// TestSecretsAreSeen searches a text with one of each kind. They are assembled here, so that no file contains one.
func TestSecretsAreSeen(t *testing.T) {
	t.Parallel()
	for kind, text := range map[string]string{
		"a private key":             "-----BEGIN EC " + "PRIVATE KEY-----",
		"a token of a Telegram bot": "123456789:" + "AA" + strings.Repeat("x", 33),
		"an API token of ours":      "sc_" + strings.Repeat("a", 32),
		"a token of GitHub":         "ghp_" + strings.Repeat("a", 36),
		"a key of AWS":              "AKIA" + strings.Repeat("A", 16),
		"an OAuth token of Yandex":  "y0_" + strings.Repeat("a", 55),
		"words of a wallet":         `"` + strings.TrimSpace(strings.Repeat("abandon ", 24)) + `"`,
		"a session of Fragment":     "stel_ssid=" + strings.Repeat("a", 18) + "_1234567890",
		"a password in an address":  "postgres://u:" + strings.Repeat("a", 20) + "@h/db",
		"a filled-in secret":        "STAGECOACH_TON_" + "KEY=" + strings.Repeat("a", 64),
	} {
		if !slices.Contains(secretsIn("x "+text+"\n"), kind) && !slices.Contains(secretsIn(text), kind) {
			t.Errorf("%s is not seen", kind)
		}
	}
}
