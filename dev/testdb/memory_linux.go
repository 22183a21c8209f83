package testdb

import "syscall"

const (
	tmpfs = 0x01021994
	room  = 1 << 30 // bytes; an empty database takes 8 MB, and few exist at a time
)

// memory returns a folder whose files are only kept in memory, with room for the server, or "" for the usual one. A
// copy of a database's 300 files takes a fifth of the time there, and no disk is busy with them afterwards.
func memory() string {
	const folder = "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil || fs.Type != tmpfs || fs.Bavail*uint64(fs.Bsize) < room || syscall.Access(folder, 2) != nil {
		return ""
	}
	return folder
}
