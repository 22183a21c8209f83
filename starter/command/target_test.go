package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"stagecoach/internal/devinfo"
)

// devState makes a folder whose dev.json names this API.
func devState(t *testing.T, info devinfo.Info) (state string) {
	t.Helper()
	state = t.TempDir()
	data, err := json.Marshal(info)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(state, devinfo.File), data)
	return state
}

// TestAddressesFromFilesGetNoOtherTokens calls an API that only a dev.json names, for example in a folder that somebody
// else has written: neither the environment's token nor one on the command line reaches it.
func TestAddressesFromFilesGetNoOtherTokens(t *testing.T) {
	t.Setenv("STAGECOACH_TOKEN", "sc_of_the_environment")
	api := newFakeAPI(t, map[string][]string{"GET /v1/status": {"200 " + statusJSON}})
	state := devState(t, devinfo.Info{API: api.URL, AdminToken: "admin", UserToken: "user"})

	code, _, errs := starter(t, "status", "--state", state)
	if code != 0 || len(api.asked) != 1 || api.asked[0].token != "admin" {
		t.Errorf("exit code %d, errors %q, asked %+v", code, errs, api.asked)
	}
	if !strings.Contains(errs, "STAGECOACH_TOKEN") || strings.Contains(errs, "sc_of_the_environment") {
		t.Errorf("the person reads %q", errs)
	}

	api.asked = nil
	code, _, errs = starter(t, "status", "--state", state, "--token", "sc_of_the_line")
	if code != 2 || len(api.asked) > 0 || !strings.Contains(errs, "--api") {
		t.Errorf("with --token: exit code %d, errors %q, asked %+v", code, errs, api.asked)
	}

	empty := devState(t, devinfo.Info{API: api.URL})
	code, _, errs = starter(t, "status", "--state", empty)
	if code != 2 || len(api.asked) > 0 || !strings.Contains(errs, "STAGECOACH_API_URL") {
		t.Errorf("a file without tokens: exit code %d, errors %q, asked %+v", code, errs, api.asked)
	}
}

// TestTokensGoWhereTheyAreGiven sends the environment's token to the address from the environment or the command line.
func TestTokensGoWhereTheyAreGiven(t *testing.T) {
	t.Setenv("STAGECOACH_TOKEN", "sc_of_the_environment")
	api := newFakeAPI(t, map[string][]string{"GET /v1/status": {"200 " + statusJSON}})
	state := devState(t, devinfo.Info{API: api.URL, AdminToken: "admin"})

	if code, _, errs := starter(t, "status", "--state", state, "--api", api.URL); code != 0 || errs != "" {
		t.Errorf("exit code %d, errors %q", code, errs)
	}

	t.Setenv("STAGECOACH_API_URL", api.URL)
	if code, _, errs := starter(t, "status", "--state", state); code != 0 || errs != "" {
		t.Errorf("exit code %d, errors %q", code, errs)
	}

	if len(api.asked) != 2 || api.asked[0].token != "sc_of_the_environment" || api.asked[1] != api.asked[0] {
		t.Errorf("asked %+v", api.asked)
	}
}

// TestPlainTextToOtherMachinesIsWarnedOf expects one warning, and none for connections within this machine. The
// addresses are nonexistent names and an unused port.
func TestPlainTextToOtherMachinesIsWarnedOf(t *testing.T) {
	t.Parallel()
	for address, warned := range map[string]bool{
		"http://stagecoach.invalid":    true,
		"http://localhost.invalid":     true,
		"https://stagecoach.invalid":   false,
		"http://localhost:1":           false,
		"http://127.8.9.1:1":           false,
		"http://[::1]:1":               false,
		"http://[::ffff:127.0.0.1]:1/": false,
	} {
		code, _, errs := starter(t, "status", "--api", address, "--token", "sc_secret")
		if code != 3 || strings.Contains(errs, "sc_secret") {
			t.Errorf("%s: exit code %d, errors %q", address, code, errs)
		}
		if got := strings.Count(errs, "is not encrypted"); got != map[bool]int{true: 1}[warned] {
			t.Errorf("%s: warned %d times: %q", address, got, errs)
		}
	}
}
