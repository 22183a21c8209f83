// Command mutants changes one operator at a time in the packages that must never be wrong, and runs the package's own
// tests after each change. It fails for a change that no test notices, unless known.txt explains it.
//
//	go run ./dev/mutants -gremlins PROGRAM [PACKAGE…]
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// packages are the ones whose tests must notice every change.
var packages = []string{
	"internal/codec", "internal/fetch", "internal/lifecycle", "internal/money", "internal/stars", "internal/ton",
	"internal/torrent",
}

//go:embed known.txt
var knownText string

func main() {
	gremlins := flag.String("gremlins", "gremlins", "the program that makes the changes")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := run(ctx, *gremlins, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, gremlins string, chosen []string) error {
	if len(chosen) == 0 {
		chosen = packages
	}

	known, err := parseKnown(knownText)
	if err != nil {
		return err
	}

	box, err := newSandbox(gremlins)
	if err != nil {
		return err
	}
	defer box.remove()

	var wrong []string
	for _, name := range chosen {
		mutants, err := box.mutate(ctx, strings.TrimPrefix(name, "./"))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}

		survivors := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.Status == killed })
		fmt.Fprintf(
			os.Stdout, "%-20s %3d changes, %3d noticed, %d not\n", name, len(mutants), len(mutants)-len(survivors),
			len(survivors),
		)

		wrong = append(wrong, compare(survivors, in(known, name))...)
	}

	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
