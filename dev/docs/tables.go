package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"stagecoach/api/parts"
	"stagecoach/api/rest"
	"stagecoach/internal/config"
	"stagecoach/internal/service/all"
	"stagecoach/internal/stars"
)

// failuresTable lists the ways in which a purchase fails.
func failuresTable() string {
	var b strings.Builder
	b.WriteString("| error_message | error_class | category |\n|---|---|---|\n")
	for _, f := range stars.Failures {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Message, f.Class, stars.CategoryOf(f.Message))
	}
	return b.String()
}

// settingGroup is one table of settings.
type settingGroup struct {
	heading  string
	prefixes []string // of the settings' names after STAGECOACH_
}

// settingGroups are the headings of the settings' tables, in order. The first one takes all settings of no other group.
var settingGroups = []settingGroup{
	{"All processes", nil},
	{"API and bot", []string{"API_", "BOT", "WEB_UI_", "ADMIN_IDS", "ACTIVATE_", "OIDC_"}},
	{"Limits of one user", []string{"LIMIT_"}},
	{"Workers", []string{"WORKER_", "TEMPORAL_"}},
	{"Telegram", []string{"TELEGRAM_"}},
	{"Yandex Disk", []string{"YANDEX_", "LISTING_"}},
	{"Delivery", []string{"DELIVERY_", "SPOOL_"}},
	{"Downloads", []string{"QBITTORRENT_", "DOWNLOAD_", "MEDIA_", "LIBRARY_", "SEED_"}},
	{"Transactions", []string{"TON_", "TONCENTER_", "FRAGMENT_", "TX_"}},
	{"Retention", []string{"RETENTION_"}},
}

// settingsTable lists the environment's variables, a table for each group.
func settingsTable() string {
	rows := make([]string, len(settingGroups))
	for _, s := range config.Settings() {
		rows[groupOf(s.Name)] += fmt.Sprintf("| `%s` | %s | %s |\n", s.Name, defaultOf(s), meaningOf(s))
	}

	var b strings.Builder
	for i, group := range settingGroups {
		fmt.Fprintf(&b, "## %s\n\n| variable | default | what |\n|---|---|---|\n%s\n", group.heading, rows[i])
	}
	return b.String()
}

// groupOf returns the index of a setting's group.
func groupOf(name string) int {
	rest, _ := strings.CutPrefix(name, "STAGECOACH_")
	return max(0, slices.IndexFunc(settingGroups, func(group settingGroup) bool {
		return slices.ContainsFunc(group.prefixes, func(prefix string) bool { return strings.HasPrefix(rest, prefix) })
	}))
}

func defaultOf(s config.Setting) string {
	switch {
	case s.Required:
		return "required"
	case s.Default == "":
		return ""
	case strings.HasPrefix(s.Default, os.TempDir()): // differs between machines
		return "in the system's folder for temporary files"
	default:
		return "`" + s.Default + "`"
	}
}

// readers names programs: `api`, `worker`, `serve`.
func readers(programs []config.Program) string {
	var names []string
	for _, program := range programs {
		names = append(names, "`"+string(program)+"`")
	}
	return strings.Join(names, ", ")
}

func meaningOf(s config.Setting) string {
	text := strings.ReplaceAll(s.Doc, "|", "\\|")
	switch {
	case s.Secret && len(s.Only) > 0:
		text += " (secret; read by " + readers(s.Only) + " alone)"
	case s.Secret:
		text += " (secret)"
	}
	return text
}

// operation is the part of an operation in /openapi.json that the table of the API shows.
type operation struct {
	Tags     []string
	Summary  string
	Security []map[string][]string
}

// operationsTable lists the operations of the HTTP API by subject, each with the scope that a token needs.
func operationsTable() string {
	answer := httptest.NewRecorder()
	rest.New(rest.Options{Parts: parts.REST(all.Services{}, nil)}).ServeHTTP(
		answer, httptest.NewRequest(http.MethodGet, "/openapi.json", nil),
	)
	var api struct {
		Paths map[string]map[string]operation
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &api); err != nil {
		panic(err) // the document is generated
	}

	type row struct{ tag, path, method, text string }
	var rows []row
	for path, methods := range api.Paths {
		for method, o := range methods {
			method = strings.ToUpper(method)
			text := fmt.Sprintf("| %s | `%s %s` | %s | %s |\n", o.Tags[0], method, path, o.Summary, scopeOf(o))
			rows = append(rows, row{o.Tags[0], path, method, text})
		}
	}

	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
	})

	var b strings.Builder
	b.WriteString("| subject | operation | what | scope |\n|---|---|---|---|\n")
	for _, r := range rows {
		b.WriteString(r.text)
	}
	return b.String()
}

// scopeOf returns the scopes that the document names for the token scheme, of which one is enough. An empty list of
// schemes means that no token is needed.
func scopeOf(o operation) string {
	var scopes []string
	for _, scheme := range o.Security {
		for _, names := range scheme {
			scopes = append(scopes, names...)
		}
	}

	switch {
	case len(o.Security) == 0:
		return "no token needed"
	case len(scopes) == 0:
		return "any token"
	default:
		return "`" + strings.Join(scopes, "` or `") + "`"
	}
}
