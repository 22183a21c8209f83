package library

import (
	"math"
	"syscall"
)

// CopySpace returns how many bytes the library folder has free for copies from another folder. If both are on one file
// system links are made instead, and if that is unknown nothing is limited.
func CopySpace(folder, from string) int64 {
	var to, source syscall.Stat_t
	var fs syscall.Statfs_t
	if syscall.Stat(folder, &to) != nil || syscall.Stat(from, &source) != nil || to.Dev == source.Dev || syscall.Statfs(folder, &fs) != nil {
		return math.MaxInt64
	}
	return int64(fs.Bavail) * int64(fs.Bsize)
}
