package app

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
)

// Version is the program's version; commit is the git revision from which it was built. Release builds set both
// (.goreleaser.yaml). Other builds have this version, and the revision recorded by the go command, if any.
var (
	Version = "0.2.0"
	commit  string
)

// Build describes what a program was built from.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// ThisBuild is the running program's.
func ThisBuild() Build {
	b := Build{Version: Version, Commit: commit, Go: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Go = info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = cmp.Or(b.Commit, s.Value)
			}
		}
	}
	b.Commit = cmp.Or(b.Commit, "unknown")
	return b
}

func (b Build) String() string {
	return fmt.Sprintf("Stagecoach %s, commit %s, %s", b.Version, b.Commit, b.Go)
}

// AsksVersion reports whether a service's arguments request its version.
func AsksVersion(args []string) bool {
	return len(args) == 1 && slices.Contains([]string{"version", "--version"}, args[0])
}
