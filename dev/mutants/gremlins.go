package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The outcomes of a mutation.
const (
	killed   = "KILLED" // a test has failed
	timedOut = "TIMED_OUT"
)

// timeoutCoefficient is the time-out of a run, as a multiple of the first run, which compiles too. A busy machine must
// not reach it: a time-out proves nothing.
const timeoutCoefficient = "15"

// everyLineCovered replaces the go command while gremlins runs. gremlins changes only lines that are in Go's coverage
// profile, and the profile contains neither the conditions of a switch nor constants. This profile contains complete
// files.
const everyLineCovered = `#!/bin/sh
"$MUTANTS_GO" "$@" || exit
for argument; do
	case $previous in -coverprofile)
		sed 's/\.go:.*/.go:1.1,1000000.1 1 1/' "$argument" >"$argument.all" && mv "$argument.all" "$argument" ;;
	esac
	previous=$argument
done
`

// sandbox is a copy of the source, so that an edit does not change what is tested, and nothing is left behind.
type sandbox struct {
	dir      string
	gremlins string
}

// newSandbox copies internal, which imports no other room of the module.
func newSandbox(gremlins string) (*sandbox, error) {
	gremlins, err := filepath.Abs(gremlins)
	if err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}

	s := &sandbox{dir: dir, gremlins: gremlins}
	if err := s.fill(); err != nil {
		s.remove()
		return nil, err
	}

	return s, nil
}

func (s *sandbox) remove() { os.RemoveAll(s.dir) }

// The folders of a sandbox. gremlins copies the module into tmp, which is therefore not below it.
func (s *sandbox) module(name ...string) string {
	return filepath.Join(s.dir, "module", filepath.Join(name...))
}
func (s *sandbox) bin() string { return filepath.Join(s.dir, "bin") }
func (s *sandbox) tmp() string { return filepath.Join(s.dir, "tmp") }

func (s *sandbox) fill() error {
	for _, dir := range []string{s.module(), s.bin(), s.tmp()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}

	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.module(name), content, 0o600); err != nil {
			return err
		}
	}

	if err := os.CopyFS(s.module("internal"), os.DirFS("internal")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.bin(), "go"), []byte(everyLineCovered), 0o700)
}

// report is the part of gremlins' report that is read.
type report struct {
	Files []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Type, Status string
			Line, Column int
		}
	}
}

// mutate makes every mutation in a package, one after the other.
func (s *sandbox) mutate(ctx context.Context, name string) ([]mutant, error) {
	found, err := s.run(ctx, name)
	if err != nil {
		return nil, err
	}

	var mutants []mutant
	for _, file := range found.Files {
		source, err := readSource(s.module(name, file.Name))
		if err != nil {
			return nil, err
		}
		for _, m := range file.Mutations {
			mutants = append(mutants, mutant{
				Status: strings.ReplaceAll(m.Status, " ", "_"), File: filepath.ToSlash(filepath.Join(name, file.Name)),
				Type: m.Type, Func: source.function(m.Line), Text: source.marked(m.Line, m.Column),
			})
		}
	}

	if len(mutants) == 0 {
		return nil, errors.New("there is nothing to change")
	}
	return mutants, nil
}

func (s *sandbox) run(ctx context.Context, name string) (found report, err error) {
	realGo, err := exec.LookPath("go")
	if err != nil {
		return found, err
	}

	out := filepath.Join(s.dir, filepath.Base(name)+".json")
	command := exec.CommandContext(ctx, s.gremlins, "unleash", "./"+name, "--output", out, "--workers", "2",
		"--timeout-coefficient", timeoutCoefficient, "--invert-logical")
	command.Dir = s.module()
	command.Env = append(os.Environ(), "MUTANTS_GO="+realGo, "TMPDIR="+s.tmp(),
		"PATH="+s.bin()+string(os.PathListSeparator)+os.Getenv("PATH"))
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute

	if said, err := command.CombinedOutput(); err != nil {
		return found, fmt.Errorf("%w\n%s", err, said)
	}

	content, err := os.ReadFile(out)
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(content, &found)
}
