package loadtest

import "os"

// TriesAll reports whether a test tries all of a long list, as in .ci/run, which sets SPENDSYNC_TEST_ALL: without it, a
// representative part.
func TriesAll() bool { return os.Getenv("SPENDSYNC_TEST_ALL") != "" }
