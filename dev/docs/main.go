// Command docs writes the parts of documents that are generated from the code: tables of rules, and lists of all
// settings.
//
//	go run ./dev/docs [-check]
//
// A part is between two comments, "begin NAME" and "end NAME"; the text outside is not changed. With -check nothing is
// written: the exit code is 1 if a document differs from the code.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
)

// part is one generated section.
type part struct {
	name string
	text func() string
}

// document is a file with generated parts. Each is between two comments.
type document struct {
	name       string
	begin, end string // the comments; %s is the part's name
	parts      []part
}

var documents = append(
	ofWorkloads(),
	markdown("docs/api.md", part{"operations", operationsTable}),
	markdown("docs/mcp.md", part{"tools", toolsTable}),
	markdown("docs/settings.md", part{"settings", settingsTable}),
	document{"deploy/compose/settings.env", "# begin %s\n", "# end %s\n", []part{{"settings", composeSettings}}},
	document{"deploy/compose/temporal.yaml", "# begin %s\n", "# end %s\n", []part{{"partitions", composePartitions}}},
	unit("stagecoach.service", config.ForServe),
	unit("stagecoach-payments.service", config.ForPayments),
	unit("stagecoach-grant.service", config.ForServe, databaseURL),
	unit("stagecoach-backup.service", config.ForServe, databaseURL),
	document{".env.example", "# begin %s\n", "# end %s\n", []part{{"settings", exampleSettings}}},
)

// ofWorkloads is the document of each workload, with its diagram and its rules.
func ofWorkloads() []document {
	more := map[string][]part{lifecycle.WorkloadTransaction: {{"failures", failuresTable}}}
	documents := []document{}
	for _, w := range lifecycle.Workloads {
		states := part{w.Name + " states", func() string { return diagram(w.Table.Plain()) }}
		rules := part{w.Name + " rules", func() string { return rulesTable(w.Table.Plain()) }}
		documents = append(documents, markdown("docs/"+w.Name+".md", append([]part{states, rules}, more[w.Name]...)...))
	}
	return documents
}

func markdown(name string, parts ...part) document {
	return document{name, "<!-- begin %s -->\n\n", "\n<!-- end %s -->", parts}
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

// update writes the generated parts of the document in dir. With check it only reports whether they differ.
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

// replace replaces the text between the two comments of a part.
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
