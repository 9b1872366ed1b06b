package check_test

import (
	"os"
	"testing"

	"spendsync/load/loadtest"
)

func TestMain(m *testing.M) {
	leave := loadtest.InMemory()
	code := m.Run()
	leave()
	os.Exit(code)
}
