//go:build darwin || freebsd || netbsd || openbsd

package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes ignores death: these systems do not signal a child when its parent dies.
func processAttributes(as *account, _ syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if as != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid)}
	}
	return attr
}

// descriptorPath returns the plain name: a directory has no name by its descriptor here.
func descriptorPath(_ int, f *os.File) string { return f.Name() }

// serversIn returns the main process of a server left behind in the data directory. Its pid file alone proves nothing:
// another program may have that number by now. Child processes without their main process are not found.
func serversIn(data string) (pids []int, complete bool) {
	content, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return nil, false
	}

	pid, err := strconv.Atoi(strings.SplitN(string(content), "\n", 2)[0])
	if err != nil || pid <= 1 {
		return nil, false
	}

	line, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || !strings.Contains(string(line), "postgres") || !strings.Contains(string(line), data) {
		return nil, false
	}
	return []int{pid}, false
}
