//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package servers

import (
	"os"
	"syscall"
)

// Limits on these systems: no process groups, no locks between processes, no search for servers left behind.

func processAttributes(*account, syscall.Signal) *syscall.SysProcAttr { return nil }

func descriptorPath(_ int, f *os.File) string { return f.Name() }

func serversIn(string) (pids []int, complete bool) { return nil, false }

func killGroup(p *os.Process) { _ = p.Kill() }

func tryLock(*os.File) (bool, error) { return true, nil }

func unlock(f *os.File) { _ = f.Close() }

func owner(os.FileInfo) int { return -1 }
