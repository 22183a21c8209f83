// Command docs writes those parts of documents that the code knows best: tables of rules, and what lists all settings.
//
//	go run ./dev/docs [-check]
//
// A part stands between two comments, "begin NAME" and "end NAME"; what is outside is left alone. With -check nothing
// is written: the exit code is 1 when a document differs from what the code says.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stagecoach/internal/config"
	"stagecoach/internal/stars"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/task"
	"stagecoach/workflows/transaction"
)

// part is one generated section. A workload adds one line here.
type part struct {
	name string
	text func() string
}

// document is a file with generated parts. Each stands between two comments.
type document struct {
	name       string
	begin, end string // the comments; %s is the part's name
	parts      []part
}

var documents = []document{
	{"README.md", "<!-- begin %s -->\n\n", "\n<!-- end %s -->", []part{
		{"delivery rules", delivery.Rules.Markdown},
		{"task rules", task.Rules.Markdown},
		{"download rules", download.Rules.Markdown},
		{"transaction rules", transaction.Rules.Markdown},
		{"failures", failuresTable},
		{"settings", settingsTable},
	}},
	{"docker-compose.yml", "    # begin %s\n", "    # end %s\n", []part{{"settings", composeSettings}}},
	{".env.example", "# begin %s\n", "# end %s\n", []part{{"settings", exampleSettings}}},
}

func main() {
	check := flag.Bool("check", false, "only say whether the documents are as the code has them")
	flag.Parse()

	for _, d := range documents {
		if err := d.update(".", *check); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// update writes the parts of the document in dir anew, or only says whether that is needed.
func (d document) update(dir string, check bool) error {
	path := filepath.Join(dir, d.name)
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}

	after := string(before)
	for _, p := range d.parts {
		if after, err = d.replace(after, p); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}

	switch {
	case after == string(before):
		return nil
	case check:
		return fmt.Errorf("%s is not what the code says: run `make docs`", d.name)
	default:
		return os.WriteFile(path, []byte(after), 0o644)
	}
}

// replace puts the text of a part between its two comments.
func (d document) replace(text string, p part) (string, error) {
	begin, end := fmt.Sprintf(d.begin, p.name), fmt.Sprintf(d.end, p.name)
	firstLine, _, _ := strings.Cut(begin, "\n")

	head, rest, begins := strings.Cut(text, firstLine+"\n")
	_, tail, ends := strings.Cut(rest, strings.TrimLeft(end, "\n"))
	if !begins || !ends {
		return "", fmt.Errorf("the comments around %q are missing", p.name)
	}
	return head + begin + strings.Trim(p.text(), "\n") + "\n" + end + tail, nil
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
