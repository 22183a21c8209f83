package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
)

// mutant is one mutation. It has no line number, so that known.txt stays valid after edits elsewhere in the file.
type mutant struct {
	Status string // the outcome: KILLED, LIVED or TIMED_OUT
	File   string
	Func   string
	Type   string // how the operator is changed
	Text   string // the line before the change, with a mark before the operator
}

// String returns the mutant as known.txt has it.
func (m mutant) String() string {
	return strings.Join([]string{m.Status, m.File, m.Func, m.Type, m.Text}, " ")
}

// complaint describes a mutant that is not in known.txt.
func (m mutant) complaint() string {
	if m.Status == timedOut {
		return "ran out of time, because the machine is busy or the loop never ends: "
	}
	return "no test notices: "
}

// mark precedes the mutated operator.
const mark = "‸"

// parseKnown reads known.txt: indented lines are mutants, and the line before them says why no test notices them.
func parseKnown(text string) ([]mutant, error) {
	var known []mutant
	reason := ""
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		switch {
		case content == "" || strings.HasPrefix(content, "#"):
			reason = ""
		case !strings.HasPrefix(line, "\t"):
			reason = content
		case reason == "":
			return nil, fmt.Errorf("known.txt gives no reason for: %s", content)
		default:
			fields := strings.SplitN(content, " ", 5)
			if len(fields) < 5 {
				return nil, fmt.Errorf("known.txt has a line that is no mutant: %s", content)
			}
			known = append(known, mutant{fields[0], fields[1], fields[2], fields[3], fields[4]})
		}
	}

	return known, nil
}

// in returns the mutants of one package.
func in(known []mutant, name string) []mutant {
	return slices.DeleteFunc(
		slices.Clone(known), func(m mutant) bool { return m.File[:max(0, strings.LastIndex(m.File, "/"))] != name },
	)
}

// compare returns the differences: survivors that are not known, and known ones that did not survive. Equal mutants are
// counted.
func compare(survivors, known []mutant) []string {
	count := map[mutant]int{}
	for _, m := range survivors {
		count[m]++
	}

	for _, m := range known {
		count[m]--
	}

	var wrong []string
	for m, more := range count {
		for ; more > 0; more-- {
			wrong = append(wrong, m.complaint()+m.String())
		}
		for ; more < 0; more++ {
			wrong = append(wrong, "known.txt lists what a test notices, or what is gone: "+m.String())
		}
	}

	slices.Sort(wrong)
	return wrong
}

// source is a file in which mutants are described.
type source struct {
	lines []string
	set   *token.FileSet
	file  *ast.File
}

func readSource(path string) (*source, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{strings.Split(string(content), "\n"), set, file}, nil
}

// marked returns a line with the mark before a column.
func (s *source) marked(line, column int) string {
	text := s.lines[line-1]
	return strings.TrimSpace(text[:column-1] + mark + text[column-1:])
}

// function returns the name of the function that contains a line.
func (s *source) function(line int) string {
	for _, declaration := range s.file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || line < s.set.Position(f.Pos()).Line || line > s.set.Position(f.End()).Line {
			continue
		}
		return f.Name.Name
	}
	return "package"
}
