//go:build darwin || freebsd || linux

package store

import "syscall"

// room is how many bytes a folder's disk has left for this user.
func room(dir string) (free int64, known bool) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}
