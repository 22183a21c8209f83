//go:build linux || darwin || freebsd || netbsd || openbsd

package servers

import (
	"os"
	"syscall"
)

// killGroup kills a child together with its own children.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

// tryLock locks the file for this process, or reports that another one holds the lock. The lock ends with unlock or
// with the process.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}

// unlock is needed besides Close: a child that is being started has the file open too, until it runs its own program.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

func owner(info os.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
