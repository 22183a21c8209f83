package servers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

func processAttributes(as *account, death syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	if as != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
	}
	return attr
}

// descriptorPath names the directory or file that a child inherits as descriptor fd. The name is valid even if the
// child has no access to the folders above.
func descriptorPath(fd int, _ *os.File) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// serversIn lists the processes in the data directory: it is the working directory of PostgreSQL's main process and of
// its children. The list is complete: if it is empty, no process uses the data.
func serversIn(data string) (pids []int, complete bool) {
	want, err := os.Stat(data)
	if err != nil {
		return nil, errors.Is(err, fs.ErrNotExist)
	}

	dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, dir := range dirs {
		cwd, err := os.Stat(dir)
		if err != nil || !os.SameFile(want, cwd) {
			continue
		}

		proc := filepath.Dir(dir)
		if name, _ := os.ReadFile(filepath.Join(proc, "comm")); string(name) != "postgres\n" {
			continue // such as a shell in this folder
		}

		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil {
			pids = append(pids, pid)
		}
	}

	return pids, true
}
