package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestTextIsTaken sends each text verbatim: what looks like a flag, and what ends flags elsewhere, belongs to it.
func TestTextIsTaken(t *testing.T) {
	t.Parallel()
	tx := "tx resolve " + txHash + " processed "
	for line, want := range map[string]string{
		"task comment 54 answer as --json please":                 `{"comment":"answer as --json please"}`,
		"task done 54 ran it with -h":                             `{"comment":"ran it with -h","to":"DONE"}`,
		"task done 54 --help is wrong":                            `{"comment":"--help is wrong","to":"DONE"}`,
		"task done 54 -h":                                         `{"comment":"-h","to":"DONE"}`,
		"task block 54 --no-such-flag":                            `{"comment":"--no-such-flag","to":"BLOCKED"}`,
		"task release 54 -1 degrees -- too cold":                  `{"comment":"-1 degrees -- too cold","to":"NEW"}`,
		"task escalate 54 see --api=http://x":                     `{"comment":"see --api=http://x"}`,
		"task claim 54 with --lease 5m":                           `{"comment":"with --lease 5m"}`,
		"task claim --lease 5m 54 with --lease 9m":                `{"comment":"with --lease 9m","lease_seconds":300}`,
		"task takeover 54 - nobody is here -":                     `{"comment":"- nobody is here -"}`,
		"task next take --wait 50s":                               `{"comment":"take --wait 50s"}`,
		"task next -- --wait is broken":                           `{"comment":"--wait is broken"}`,
		"task status 54 done -x passes":                           `{"comment":"-x passes","to":"DONE"}`,
		"task approve 54 1 --json is there":                       `{"comment":"--json is there","submission":1}`,
		"task reject 54 1 no --json":                              `{"comment":"no --json","submission":1}`,
		"tx pause --token is stolen":                              "", // a flag before all words is a flag
		"tx pause the --token is stolen":                          `{"reason":"the --token is stolen"}`,
		"tx review " + txHash + " -h":                             `{"comment":"-h"}`,
		"tx write-off " + txHash + " as --all":                    `{"comment":"as --all"}`,
		"tx retry " + txHash + " --all --yes":                     `{"comment":"--all --yes"}`,
		tx + "--payment is unknown":                               `{"comment":"--payment is unknown","outcome":"processed"}`,
		"tx resolve --payment ab " + txHash + " failed --payment": `{"comment":"--payment","outcome":"failed","payment":"ab"}`,

		"task comment 54 -- --json please":  `{"comment":"--json please"}`, // out of habit
		"task comment -- 54 --json please":  `{"comment":"--json please"}`,
		"task comment -- 54 -- please":      `{"comment":"-- please"}`, // the first one has ended the flags
		"task comment 54 please -- answer":  `{"comment":"please -- answer"}`,
		"task comment 54 -- -- please":      `{"comment":"-- please"}`,
		"task comment 54 --":                `{"comment":""}`,
		"task status -- 54 done --now":      `{"comment":"--now","to":"DONE"}`,
		"task status 54 -- done --now":      `{"comment":"--now","to":"DONE"}`,
		"task status 54 done -- --now":      `{"comment":"--now","to":"DONE"}`,
		"-- task comment 54 --json please":  `{"comment":"--json please"}`,
		"book find -- --type of a -- title": "q=--type+of+a+--+title",
		"book find a --type of title":       "media_type=text&q=a+--type+of+title",
	} {
		var got string
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = string(body) + r.URL.RawQuery
			_, _ = io.WriteString(w, `{}`)
		}))

		words, isAfterDashes := strings.CutPrefix(line, "-- ")
		args := withFlags(strings.Fields(words), "--api", api.URL, "--token", "secret")
		if isAfterDashes {
			args = slices.Insert(args, 0, "--")
		}

		code, _, errs := starter(t, args...)
		api.Close()
		if want == "" {
			continue
		}
		if code != 0 || !strings.Contains(got, want) {
			t.Errorf("%s: exit code %d, sent %s, errors %q", line, code, got, errs)
		}
	}
}

// TestFlagsGoBeforeText expects every command with a text to document that, and to accept flags there.
func TestFlagsGoBeforeText(t *testing.T) {
	t.Parallel()
	var walk func(*cobra.Command)
	texts := 0
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		if !strings.Contains(cmd.Use, "…") || cmd.Name() == "download" { // its links are not text
			return
		}

		texts++
		line := append(strings.Fields(cmd.CommandPath())[1:], "--help", "54", "text")
		code, out, errs := starter(t, line...)
		if code != 0 || errs != "" || !strings.Contains(out, cmd.Name()+" [flags] ") || !strings.Contains(out, "Flags go before ") {
			t.Errorf("%v: exit code %d, errors %q, output\n%s", line, code, errs, out)
		}
		if code, _, errs := starter(t, slices.Insert(line, len(line)-3, "--no-such-flag")...); code != 2 || !strings.Contains(errs, "no-such-flag") {
			t.Errorf("%s: exit code %d, errors %q", cmd.CommandPath(), code, errs)
		}
	}
	walk(newRoot("starter"))
	if texts < 17 {
		t.Errorf("only %d commands take a text", texts)
	}
}

// TestDashesBeforeACommand end no flags where there are none yet, and are explained where they are in the way.
func TestDashesBeforeACommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"-- version":         {0, "Stagecoach "},
		"-- --version":       {0, "Stagecoach "},
		"-- task --help":     {0, "Share work"},
		"--":                 {0, "Available Commands"},
		"-- bogus":           {2, `no command "bogus"`},
		"-- -- version":      {2, "-- before the command name"},
		"task -- comment 54": {2, "-- before the command name"},
		"task --":            {0, "Share work"},
		"task comment --":    {2, "wrong number of arguments: starter task comment [flags] ID COMMENT…"},
		"task status 1 --":   {2, "wrong number of arguments: starter task status [flags] ID STATUS COMMENT…"},
	} {
		code, out, errs := starter(t, strings.Fields(line)...)
		if code != want.code || !strings.Contains(out+errs, want.text) {
			t.Errorf("%s: exit code %d, output %q, errors %q", line, code, out, errs)
		}
	}
}

// TestArgumentsThatLookLikeFlags are explained when they are refused, and accepted after a --.
func TestArgumentsThatLookLikeFlags(t *testing.T) {
	t.Parallel()
	for _, line := range [][]string{
		{"task", "create", "--workspace", "2", "-h fails"},
		{"task", "create", "--workspace", "2", "--json is wrong"},
		{"book", "add", "-5 degrees"},
		{"workspace", "create", "--shop"},
		{"user", "add", "-ada"},
		{"token", "create", "--scope", "read", "-night"},
		{"deliver", "--no-wait", "-report.pdf"},
		{"files", "-folder"},
	} {
		code, out, errs := starter(t, line...)
		if code != 2 || out != "" || !strings.Contains(errs, "put an argument that begins with - after --") {
			t.Errorf("%q: exit code %d, output %q, errors %q", line, code, out, errs)
		}

		api := newFakeAPI(t, nil)
		line = slices.Insert(withFlags(line, "--api", api.URL, "--token", "secret"), len(line)+3, "--")
		if code, _, errs = starter(t, line...); len(api.asked) != 1 {
			t.Errorf("%q: exit code %d, errors %q", line, code, errs)
		}
	}

	if _, _, errs := starter(t, "task", "list", "--bogus"); strings.Contains(errs, "argument") {
		t.Errorf("a command without arguments: %s", errs)
	}
}
