// Command docs writes those parts of README.md that the code knows best: tables of rules and the table of settings.
//
//	go run ./internal/docs [-check]
//
// A part stands between two comments, <!-- begin NAME --> and <!-- end NAME -->; what is outside is left alone. With
// -check nothing is written: the exit code is 1 when README.md differs from what the code says.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"stagecoach/internal/config"
	"stagecoach/internal/stars"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/task"
	"stagecoach/workflows/transaction"
)

const document = "README.md"

// part is one generated section. A workload adds one line here.
type part struct {
	name string
	text func() string
}

var parts = []part{
	{"delivery rules", delivery.Rules.Markdown},
	{"task rules", task.Rules.Markdown},
	{"download rules", download.Rules.Markdown},
	{"transaction rules", transaction.Rules.Markdown},
	{"failures", failuresTable},
	{"settings", settingsTable},
}

func main() {
	check := flag.Bool("check", false, "only say whether "+document+" is as the code has it")
	flag.Parse()
	if err := run(document, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string, check bool) error {
	before, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	after := string(before)
	for _, p := range parts {
		if after, err = replace(after, p.name, p.text()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case after == string(before):
		return nil
	case check:
		return fmt.Errorf("%s is not what the code says: run `make docs`", name)
	default:
		return os.WriteFile(name, []byte(after), 0o644)
	}
}

// replace puts text between the two comments of a part.
func replace(document, name, text string) (string, error) {
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->"
	head, rest, begins := strings.Cut(document, begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("the comments around %q are missing", name)
	}
	return head + begin + "\n" + strings.TrimSpace(text) + "\n\n" + end + tail, nil
}

// failuresTable lists the ways in which a purchase fails.
func failuresTable() string {
	var b strings.Builder
	b.WriteString("| error_message | error_class | category |\n|---|---|---|\n")
	for _, f := range stars.Failures {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Message, f.Class, f.Category)
	}
	return b.String()
}

// settingsTable lists the environment's variables.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| variable | default | what |\n|---|---|---|\n")
	for _, s := range config.Settings() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, defaultOf(s), meaningOf(s))
	}
	return b.String()
}

func defaultOf(s config.Setting) string {
	switch {
	case s.Required:
		return "required"
	case s.Default == "":
		return ""
	case strings.HasPrefix(s.Default, os.TempDir()): // another place on each machine
		return "in the system's folder for temporary files"
	default:
		return "`" + s.Default + "`"
	}
}

func meaningOf(s config.Setting) string {
	text := strings.ReplaceAll(s.Doc, "|", "\\|")
	if s.Secret {
		text += " (secret: `" + s.Name + "_FILE` may name a file that holds it)"
	}
	return text
}
