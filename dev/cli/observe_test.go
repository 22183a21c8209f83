package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"stagecoach/dev/servers"
	"stagecoach/dev/wait"
	"stagecoach/internal/store"
)

const (
	alertsFile    = "../../deploy/prometheus/alerts.yml"
	dashboardFile = "../../deploy/grafana/dashboards/stagecoach.json"
)

// bornLate are metrics that appear with their first event: a stack without faults or backups has none of them. Those of
// the exporters only exist in compose.
var bornLate = []string{
	"reconciler_findings_total", "temporal_workflow_task_execution_failed_total", "webhook_requests_total",
	"temporal_request_failure_total", "backup_age_seconds", "node_filesystem_", "pg_up",
}

// prometheusTool returns the path of a program of Debian's package prometheus: installed, or unpacked by make
// test-deps.
func prometheusTool(t *testing.T, name string) string {
	t.Helper()
	unpacked, err := filepath.Abs(filepath.Join("../../bin/tools/prometheus/usr/bin", name))
	if err != nil {
		t.Fatal(err)
	}

	for _, program := range []string{name, unpacked} {
		if path, err := exec.LookPath(program); err == nil {
			return path
		}
	}
	return ""
}

// TestAlertRules runs the rules' own tests: each alert fires in one case and does not in another.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool := prometheusTool(t, "promtool")
	if promtool == "" {
		t.Skip("promtool is not there: make test-deps")
	}

	for _, args := range [][]string{
		{"check", "config", "../../deploy/prometheus/prometheus.yml"},
		{"check", "config", "--syntax-only", "../../deploy/deb/prometheus.yml"},
		{"test", "rules", "../../deploy/prometheus/alerts_test.yml"},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}

	tests, err := os.ReadFile("../../deploy/prometheus/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}

	for _, kind := range store.Parts.AlertKinds() {
		if !strings.Contains(string(tests), "severity: "+kind.Severity+", kind: "+kind.Name+" }") {
			t.Errorf("no test shows that an incident %s fires with the severity %s", kind.Name, kind.Severity)
		}
	}

	for _, rule := range alertRules(t) {
		if rule.Annotations["summary"] == "" {
			t.Errorf("%s: a summary is missing", rule.Alert)
		}
		fires := strings.Contains(string(tests), "alertname: "+rule.Alert+"\n        exp_alerts:")
		if rests := strings.Contains(string(tests), "alertname: "+rule.Alert+" }"); !fires || !rests {
			t.Errorf("%s: tested as it fires: %v, as it does not: %v", rule.Alert, fires, rests)
		}
	}
}

// shows runs a command until it succeeds and its output contains a text: lists lag a little, and a busy server may not
// answer.
func shows(t *testing.T, what string, run func() ([]byte, error), want string) {
	t.Helper()
	var out []byte
	var err error
	done := false
	defer func() {
		if !done {
			t.Logf("%s: %v; want %q in\n%s", what, err, want, out)
		}
	}()
	wait.Eventually(t, what, func() bool {
		out, err = run()
		done = err == nil && strings.Contains(string(out), want)
		return done
	})
}

type alertRule struct {
	Alert, Expr string
	Annotations map[string]string
}

func alertRules(t *testing.T) []alertRule {
	t.Helper()
	data, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}

	var file struct {
		Groups []struct{ Rules []alertRule }
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}

	return file.Groups[0].Rules
}

// dashboardQueries lists the expressions of the dashboard's panels.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	data, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}

	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}

	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	return queries
}

// watched is a Prometheus that scrapes a stack.
type watched struct {
	*testing.T
	url string
}

// scrape starts a Prometheus that scrapes an address; nil if none is installed.
func scrape(t *testing.T, metrics string) *watched {
	t.Helper()
	program := prometheusTool(t, "prometheus")
	if program == "" {
		return nil
	}

	target, err := url.Parse(metrics)
	if err != nil {
		t.Fatal(err)
	}

	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	put(t, filepath.Join(dir, "prometheus.yml"), fmt.Appendf(nil,
		"{global: {scrape_interval: 3s, scrape_timeout: 3s}, scrape_configs: [{job_name: api, static_configs: [{targets: [%q]}]}]}", target.Host))
	server := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), "--log.level=error")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	return &watched{t, "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
}

// has reports whether Prometheus answers with data.
func (w *watched) has(path, parameter, value string) bool {
	response, err := http.Get(w.url + "/api/v1/" + path + "?" + url.Values{parameter: {value}}.Encode())
	if err != nil {
		return false
	}
	defer response.Body.Close()

	var answer struct {
		ErrorType, Error string
		Data             json.RawMessage
	}
	if json.NewDecoder(response.Body).Decode(&answer) != nil {
		return false // it is still starting
	}
	switch answer.ErrorType {
	case "":
	case "bad_data":
		w.Fatalf("%s: %s", value, answer.Error)
	default: // a time-out
		return false
	}

	var series []any
	var result struct{ Result []any }
	if json.Unmarshal(answer.Data, &series) != nil {
		_ = json.Unmarshal(answer.Data, &result)
	}
	return len(series)+len(result.Result) > 0
}

var (
	inBrackets  = regexp.MustCompile(`"[^"]*"|\{[^}]*\}|\[[^\]]*\]|\b(by|on) *\([^)]*\)`)
	identifiers = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*( *\()?`)
)

// metricsOf lists the metrics that an expression names.
func metricsOf(expression string) (names []string) {
	for _, word := range identifiers.FindAllString(inBrackets.ReplaceAllString(expression, " "), -1) {
		if !strings.HasSuffix(word, "(") && !slices.Contains([]string{"and", "or", "unless", "ALERTS"}, word) {
			names = append(names, word)
		}
	}
	return names
}

// wantAll fails the test unless every query of the dashboard returns data and every alert names existing metrics.
func (w *watched) wantAll() {
	w.Helper()
	late := func(expression string) bool {
		return slices.ContainsFunc(bornLate, func(name string) bool { return strings.Contains(expression, name) })
	}

	for _, query := range dashboardQueries(w.T) {
		if !late(query) {
			wait.Eventually(w.T, "there is data for "+query, func() bool { return w.has("query", "query", query) })
		}
	}

	for _, rule := range alertRules(w.T) {
		names := metricsOf(rule.Expr)
		if len(names) == 0 {
			w.Errorf("%s names no metric", rule.Alert)
		}

		for _, name := range names {
			if !late(name) {
				wait.Eventually(
					w.T, rule.Alert+": there is a metric "+name,
					func() bool { return w.has("series", "match[]", name) },
				)
			}
		}
	}
}
