package schematest

import (
	"hash/crc32"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// The variable SPENDSYNC_TEST sets how much the tests try. Empty, as in 'go test ./...': each test once, as cheaply as
// possible, with some of the expensive cases. "all", as in .ci/run: each case, and additional proofs on whole stores.
// "long", as in .ci/long: hours of random runs and every variation.
var level = os.Getenv("SPENDSYNC_TEST")

// All reports whether every case is to be tried.
func All() bool { return level == "all" || level == "long" }

// Long skips the calling test unless [All] returns true.
func Long(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip("SPENDSYNC_TEST=all runs it, as .ci/run does")
	}
}

// Drawn reports whether a test tries the case with this name. If [All] returns true, a test tries every case, otherwise
// about one of every `in` cases, chosen by a hash of the name.
func Drawn(name string, in uint32) bool { return All() || crc32.ChecksumIEEE([]byte(name))%in == 0 }

// Times returns a number of random runs: its third argument if SPENDSYNC_TEST is "long", its second if it is "all",
// otherwise its first.
func Times(few, many, most int) int {
	switch level {
	case "long":
		return most
	case "all":
		return many
	}
	return few
}

// Seed returns SPENDSYNC_SEED, or a new random seed, and logs it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("SPENDSYNC_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("SPENDSYNC_SEED=%d repeats it", seed)
	return seed
}
