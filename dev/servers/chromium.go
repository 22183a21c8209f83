package servers

import "os/exec"

// Chromium returns the program that shows pages to tests: where it is installed the shell, which has no windows and does
// the same with less than half the work.
func Chromium() (string, error) {
	if shell, err := exec.LookPath("chromium-headless-shell"); err == nil {
		return shell, nil
	}
	return exec.LookPath("chromium")
}
