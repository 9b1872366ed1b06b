package inbox_test

import (
	"os"
	"testing"

	"spendsync/load/loadtest"
)

func TestMain(m *testing.M) {
	os.Exit(loadtest.InMemory(m))
}
