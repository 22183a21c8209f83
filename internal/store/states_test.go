package store_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stagecoach/internal/store"
)

// stateSet matches a list of a workload's states in a statement: those are made from the tables, in states.go.
var stateSet = regexp.MustCompile(`(state|status) (NOT )?IN \('(` + `QUEUED|CLAIMED|DOWNLOADING|STREAMING|DELIVERED|FAILED|CANCELLED|EXPIRED|NEW|IN_PROGRESS|BLOCKED|STUCK|DONE` +
	`|queued|downloading|completed|failed|canceled|pending|processing|processed|signed|paid|dead|bounced)'`)

// singleState matches a workload's state, or a payment's state or kind, on its own in a statement. The type of an event
// may have the same name.
var (
	singleState = regexp.MustCompile(`(?:[\w.]+ (?:=|<>|IN) \(?(?:'\w+', )*)?'(QUEUED|CLAIMED|DOWNLOADING|STREAMING|DELIVERED|FAILED|CANCELLED|EXPIRED` +
		`|NEW|IN_PROGRESS|BLOCKED|STUCK|DONE|queued|downloading|completed|failed|canceled|pending|processing|processed|signed|paid|dead|bounced|purchase|refund)'`)
	noState = regexp.MustCompile(`^type (=|IN) `)
)

// stateWrite matches a statement that gives a row of a workload another state.
var stateWrite = regexp.MustCompile(
	`(?s)UPDATE (jobs|tasks|download_jobs|transactions) [^` + "`" + `;]*?\b(state|status) = `,
)

// TestStatesComeFromTheTables reads the sources of the record: no state and no set of states is written a second time,
// and a row's state is written once per workload, by the code that consults the table.
func TestStatesComeFromTheTables(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) < 60 {
		t.Fatal(len(files), err)
	}

	writes := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}

		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := stateSet.Find(source); found != nil {
			t.Errorf("%s: %s: take the set from the table: core.SetOf(lifecycle.….Live()), Ended(), …", file, found)
		}
		for _, found := range singleState.FindAll(source, -1) {
			if !noState.Match(found) {
				t.Errorf("%s: %s: take the state from lifecycle, by literal", file, found)
			}
		}

		for _, match := range stateWrite.FindAllSubmatch(source, -1) {
			set, _, _ := strings.Cut(string(match[0]), "WHERE")
			if strings.Contains(set, string(match[2])+" = ") {
				writes[string(match[1])] += file + " "
			}
		}
	}

	for _, part := range store.Parts {
		if !stateWrite.MatchString("UPDATE " + part.Table + " SET state = ") {
			t.Errorf("stateWrite does not know the table %s", part.Table)
		}
	}

	want := map[string]string{
		"jobs": "delivery/rows.go ", "download_jobs": "download/rows.go ", "tasks": "task/act.go ",
		"transactions": "transaction/write.go ",
	}

	for table, places := range want {
		if writes[table] != places {
			t.Errorf("the state in %s is written in %q, want %q", table, writes[table], places)
		}
	}
}
