package config

import (
	"slices"
	"strings"
	"testing"
)

// TestIndexers have a key each. A key in an address is rejected and not shown; a key is sent in plain text only to
// listed hosts; the paying process reads neither.
func TestIndexers(t *testing.T) {
	t.Parallel()
	with := func(urls, keys string) map[string]string {
		env := good()
		env["STAGECOACH_TORZNAB_URL"], env["STAGECOACH_TORZNAB_KEY"] = urls, keys
		env["STAGECOACH_PLAINTEXT_HOSTS"] = "prowlarr"
		return env
	}

	env := with("http://prowlarr:9696/1/api, https://jackett.example/torznab", "planted-one,\nplanted-two")
	c, err := load(env)
	if err != nil || !slices.Equal(c.Torznab.URLs, []string{"http://prowlarr:9696/1/api", "https://jackett.example/torznab"}) ||
		!slices.Equal(c.Torznab.Keys, []string{"planted-one", "planted-two"}) {
		t.Errorf("%+v, %v", c.Torznab, err)
	}

	c, err = LoadFor(ForPayments, func(name string) (string, bool) { value, ok := env[name]; return value, ok })
	if err != nil || len(c.Torznab.URLs)+len(c.Torznab.Keys) > 0 {
		t.Errorf("the process that pays has %+v, %v", c.Torznab, err)
	}

	for _, wrong := range [][3]string{
		{"http://prowlarr:9696/1/api", "", "one key for each"},
		{"", "planted-key", "one key for each"},
		{"http://prowlarr:9696/1/api", "planted-one,planted-two", "one key for each"},
		{"http://prowlarr:9696/1/api", "planted", "at least 8"},
		{"http://prowlarr:9696/1/api?apikey=planted-key", "planted-key", "addresses alone"},
		{"http://planted:key@prowlarr:9696", "planted-key", "addresses alone"},
		{"prowlarr:9696", "planted-key", "URLs"},
		{"http://elsewhere:9696/1/api", "planted-key", "must be an https URL"},
		{"http://prowlarr:9696," + strings.Repeat("http://prowlarr:9697,", 20), strings.Repeat("planted-key,", 21), "at most 20"},
	} {
		_, err := load(with(wrong[0], wrong[1]))
		if err == nil || !strings.Contains(err.Error(), "STAGECOACH_TORZNAB_") || !strings.Contains(err.Error(), wrong[2]) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s gave %v", wrong[0], err)
		}
	}
}
