package main

import (
	"slices"
	"strings"
	"testing"
)

// TestRead reads the report of a run in which one test passed when it was repeated, one failed again, and one passed at once.
func TestRead(t *testing.T) {
	t.Parallel()
	report := strings.Join([]string{
		`{"Action":"start","Package":"stagecoach/a"}`,
		`{"Action":"run","Package":"stagecoach/a","Test":"TestOdd"}`,
		`{"Action":"run","Package":"stagecoach/a","Test":"TestOdd/one"}`,
		`{"Action":"output","Package":"stagecoach/a","Test":"TestOdd/one","Output":"    odd_test.go:12: two documents, want one\n"}`,
		`{"Action":"output","Package":"stagecoach/a","Test":"TestOdd/one","Output":"    odd_test.go:13: and more\n"}`,
		`{"Action":"fail","Package":"stagecoach/a","Test":"TestOdd/one"}`,
		`{"Action":"fail","Package":"stagecoach/a","Test":"TestOdd"}`,
		`{"Action":"run","Package":"stagecoach/a","Test":"TestBroken"}`,
		`{"Action":"fail","Package":"stagecoach/a","Test":"TestBroken"}`,
		`{"Action":"run","Package":"stagecoach/a","Test":"TestQuiet"}`,
		`{"Action":"fail","Package":"stagecoach/a","Test":"TestQuiet"}`,
		`{"Action":"pass","Package":"stagecoach/a","Test":"TestRight"}`,
		`{"Action":"fail","Package":"stagecoach/a"}`,
		`{"Action":"run","Package":"stagecoach/a","Test":"TestOdd"}`,
		`{"Action":"pass","Package":"stagecoach/a","Test":"TestOdd/one"}`,
		`{"Action":"pass","Package":"stagecoach/a","Test":"TestOdd"}`,
		`{"Action":"fail","Package":"stagecoach/a","Test":"TestBroken"}`,
		`{"Action":"pass","Package":"stagecoach/a","Test":"TestQuiet"}`,
	}, "\n")
	got, err := read(strings.NewReader(report))
	want := []string{
		"FLAKY stagecoach/a TestOdd/one: odd_test.go:12: two documents, want one",
		"FLAKY stagecoach/a TestQuiet: no message",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v %q, want %q", err, got, want)
	}
}

// TestReadRefuses reads what is no report.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	if _, err := read(strings.NewReader("ok  \tstagecoach/a\t1.2s\n")); err == nil {
		t.Error("there was no error")
	}
}
