package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dataDir is the folder of a PostgreSQL server: data/ (PostgreSQL's own), password and lock (ours).
type dataDir struct {
	dir string
	as  *account // whose processes work in data/; nil means ours
}

func (d dataDir) data() string         { return filepath.Join(d.dir, "data") }
func (d dataDir) passwordFile() string { return filepath.Join(d.dir, "password") }

// serverAccount returns the account for PostgreSQL, which refuses to run as root.
func serverAccount() (*account, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}

	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid != 0 {
			return &account{uid: uid, gid: gid}, nil
		}
	}

	return nil, errors.New(
		`PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody" to run it as: create one, or do not work as root`,
	)
}

// version returns the major version of PostgreSQL that created the data, or 0 if there is none yet.
func (d dataDir) version() (int, error) {
	content, err := os.ReadFile(filepath.Join(d.data(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}

	v, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf(
			"the data is from a PostgreSQL too old to use (%q): remove %s to begin with an empty database", content, d.dir,
		)
	}

	return v, nil
}

func (d dataDir) password() (string, error) {
	content, err := os.ReadFile(d.passwordFile())
	if err != nil {
		return "", fmt.Errorf(
			"the data is there but its password is not (%w): restore the file, or remove %s to begin with an empty database",
			err, d.dir,
		)
	}
	return strings.TrimSpace(string(content)), nil
}

// initialise creates the data directory beside its final location and renames it, so that an interrupted attempt leaves
// nothing incomplete.
func (d dataDir) initialise(ctx context.Context, programs postgresPrograms, fast bool) error {
	if entries, err := os.ReadDir(d.data()); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s has files in it but is no PostgreSQL data: move them away or choose another folder", d.data())
	}

	fresh := dataDir{dir: filepath.Join(d.dir, "new"), as: d.as}
	defer func() { _ = os.RemoveAll(fresh.dir) }()

	if err := os.RemoveAll(fresh.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(fresh.data(), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(fresh.passwordFile(), []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	if err := fresh.give(fresh.passwordFile()); err != nil {
		return err
	}

	password, err := os.Open(fresh.passwordFile())
	if err != nil {
		return err
	}
	defer func() { _ = password.Close() }()

	c, closeFiles, err := fresh.command(filepath.Join(programs.dir, "initdb"))
	if err != nil {
		return err
	}
	defer closeFiles()

	c.files = append(c.files, password)
	auth := "scram-sha-256" // other users of this machine must not have access
	if fast {
		// With the race detector, computing a SCRAM proof takes a client 20 ms, longer than most tests use the connection.
		auth = "md5"
		c.args = append(c.args, "--no-sync")
	}

	c.args = append(c.args,
		"--pwfile="+fresh.childPath(2+len(c.files), password),
		"--username="+postgresUser, "--auth="+auth,
		"--encoding=UTF8", "--no-locale") // the same sort order on every machine

	c.death = syscall.SIGKILL
	if _, err := run(ctx, c); err != nil {
		return fmt.Errorf("create the database files: %w", err)
	}
	// The password is moved first: data without its password is useless.
	if err := os.Rename(fresh.passwordFile(), d.passwordFile()); err != nil {
		return err
	}

	return os.Rename(fresh.data(), d.data())
}

// command prepares a PostgreSQL program to work on the data directory. The caller calls closeFiles after the program
// was started.
//
// Under root the directory is passed on as an open file: the program's account may have no access to the folders above
// it, below /root for instance.
func (d dataDir) command(program string) (c command, closeFiles func(), err error) {
	if err := d.give(d.data()); err != nil {
		return command{}, nil, err
	}

	data, err := os.Open(d.data())
	if err != nil {
		return command{}, nil, err
	}

	c = command{
		path:  program,
		args:  []string{"-D", d.childPath(3, data)},
		dir:   "/",
		env:   environment([]string{"PG", "LC_", "LANG"}, "LC_ALL=C"),
		files: []*os.File{data},
		as:    d.as,
	}

	return c, func() { _ = data.Close() }, nil
}

// childPath is the name of the file that a child inherits as descriptor fd.
func (d dataDir) childPath(fd int, f *os.File) string {
	if d.as == nil {
		return f.Name()
	}
	return descriptorPath(fd, f)
}

// give makes the server's account the owner of everything below path, for example after a copy made by root.
func (d dataDir) give(path string) error {
	if d.as == nil {
		return nil
	}

	info, err := os.Lstat(path)
	if err != nil || owner(info) == d.as.uid {
		return err
	}
	return filepath.WalkDir(path, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, d.as.uid, d.as.gid)
	})
}

// stopLeftover stops a server whose owner was killed and could not stop it. This process holds the lock on the folder,
// so no other process uses that server. If it is certain that no server is left, the pid file is removed too: otherwise
// an unrelated process with the same number would keep PostgreSQL from starting.
func (d dataDir) stopLeftover(ctx context.Context) error {
	// A clean shutdown first; then an immediate one, for child processes whose main process is gone.
	asks := []ask{
		{syscall.SIGINT, 10 * time.Second}, {syscall.SIGQUIT, 5 * time.Second}, {syscall.SIGKILL, 5 * time.Second},
	}
	for _, a := range asks {
		pids, complete := serversIn(d.data())
		for _, pid := range pids {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Signal(a.signal)
			}
		}

		for end := time.Now().Add(a.grace); len(pids) > 0 && time.Now().Before(end); pids, complete = serversIn(d.data()) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
		}

		if len(pids) == 0 && !complete {
			return nil
		}
		if len(pids) == 0 {
			err := os.Remove(filepath.Join(d.data(), "postmaster.pid"))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
	}

	pids, _ := serversIn(d.data())
	return fmt.Errorf("a PostgreSQL that an earlier run left behind does not stop: end the processes %v by hand", pids)
}
