package files

import "syscall"

// othersWrite are the permissions to write of the group and of others.
const othersWrite = 0o022

// LimitUmask keeps every file that this process makes, those of DuckDB included, from being writable by
// the group or others, whatever umask the process inherited.
func LimitUmask() { syscall.Umask(syscall.Umask(0o777) | othersWrite) }
