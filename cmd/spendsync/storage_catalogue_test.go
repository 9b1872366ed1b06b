package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// storageFaults are the faults of the store's disk, processes and volumes that
// somebody has thought of, each with the tests that bring it about.
var storageFaults = map[string]shown{
	"B1": {"SIGTERM", "TestSync_StoppedBySignal load.TestPublish_CancelledAnywhere"},
	"B2": {"SIGKILL at any moment", "load.TestPublish_DiesAnywhere TestSync_KilledAtRandom"},
	"B3": {"loss of power", "load.TestPowerLoss_DuringARun load.TestPowerLoss_DuringTheFirstRun " +
		"load.TestPowerLoss_FindsMissingSyncs"},
	"B4": {"death during the recovery", "load.TestRollForward_CanDieItself load.TestPowerLoss_DuringARecovery " +
		"load.TestFaults_AnyCallOfARecovery"},
	"B5": {"a full disk, at every write", "load.TestFaults_AnyCallOfARun load.TestFaults_AnyCallOfACommit " +
		"TestSync_FullDisk"},
	"B6": {"a full disk inside DuckDB", "TestSync_FullDisk TestSync_IOErrors"},
	"B7": {"an I/O error", "load.TestFaults_AnyCallOfARun load.TestFaults_AnyCallOfTheNextRun " +
		"load.TestFaults_VerifyTellsTheDiskFromDamage TestSync_IOErrors"},
	"B8": {"a read-only volume, a file where the folder belongs", "TestSync_ReadOnlyFolder TestExitCodes"},
	"B9": {"too few open files, a memory limit", "TestSync_TooFewFiles"},
	"B10": {"two runs at once, also where locks are not honoured", "TestSync_SecondRunExits9 TestSync_ManyAtOnce " +
		"load.TestPublish_IsFencedWithoutLocks"},
	"B11": {"a lock whose process died", "TestSync_SecondRunExits9 TestSync_KilledAtRandom"},
	"B12": {"a reader holds the file", "TestSync_AReaderNeitherBlocksNorBreaks load.TestReaders_ThroughManyPublishes"},
	"B13": {"somebody wrote the file, or left a write-ahead log", "load.TestPublish_HealsAForeignWarehouse"},
	"B14": {"a damaged DuckDB file", "load.TestDamage_VerifyNamesTheFile load.TestPublish_HealsAForeignWarehouse " +
		"TestDamage_IsFoundNamedAndRepaired"},
	"B15": {"a DuckDB file half made", "load.TestPublish_DiesAnywhere TestSync_KilledAtRandom"},
	"B16": {"a write-ahead log without its file", "load.TestPublish_HealsALogWithoutItsFile"},
	"B17": {"a half-written Parquet file in sight", "load.TestFaults_AnyCallOfARun " +
		"load.TestReaders_ThroughManyPublishes load.TestStaging_HasNoNameThatReadersGlob"},
	"B18": {"a damaged Parquet file", "load.TestVerify_NamesWhatIsDamaged load.TestDamage_VerifyNamesTheFile " +
		"load.TestDamage_RebuildMends"},
	"B19": {"a rename across file systems", "TestSync_FolderOnAnotherFileSystem"},
	"B20": {"death between Parquet and DuckDB", "load.TestPublish_DiesAnywhere load.TestReaders_MeetADeadCommit"},
	"B21": {"several partitions change in one run", "load.TestReaders_ThroughManyPublishes " +
		"load.TestReaders_MeetADeadCommit"},
	"B22": {"no value for a partition", "load.TestOpen_RefusesAnAccountThatIsNoName"},
	"B23": {"DuckDB writes partitions", "load.TestSQL_NeverWritesFiles"},
	"B24": {"a store of an older version", "TestOldStores_OpenMigrateAndVerify TestOldStores_AreKept"},
	"B25": {"a store of a newer version", "TestOldStores_OfOtherVersionsAreRefused " +
		"load.TestOpen_RefusesANewerStore TestExitCodes"},
	"B26": {"death during a migration", "load.TestMigration_DiesAnywhere"},
	"B27": {"leftovers pile up", "load.TestPublish_DiesAnywhere load.TestFaults_AnyCallOfARun TestSync_KilledAtRandom"},
	"B28": {"a volume put back in time", "load.TestPublish_RefusesAnOlderBase load.TestDamage_ACommitRecord " +
		"load.TestOpen_RefusesDataWithoutManifest"},
	"B29": {"days without a run", "load.TestPublish_LostDaysUntilTheyAreReported load.TestModel_AnySequence"},
	"B30": {"the same job twice", "TestSync_ManyAtOnce TestSync_TwiceChangesOnlyTheLedger"},
	"B31": {"secrets in files, rotated", "config.TestSecret_Files TestFault_RefusedInTheMiddle"},
	"B32": {"nobody reads the log", "TestSync_NobodyReadsStderr"},
}

// TestStorageFaults_AllHaveTests holds that no row lacks a test, and that every test
// named is there.
func TestStorageFaults_AllHaveTests(t *testing.T) {
	there := map[string]bool{}
	for pkg, dir := range map[string]string{"": ".", "config.": "../internal/config", "load.": "../../load"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no tests, %v", dir, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
					there[pkg+f.Name.Name] = true
				}
			}
		}
	}
	const rows = 32
	for n := 1; n <= rows; n++ {
		id := fmt.Sprintf("B%d", n)
		row := storageFaults[id]
		if row.what == "" || strings.TrimSpace(row.tests) == "" {
			t.Errorf("%s has no test", id)
		}
		for test := range strings.FieldsSeq(row.tests) {
			if !there[test] {
				t.Errorf("%s: there is no %s", id, test)
			}
		}
	}
	if len(storageFaults) != rows {
		t.Errorf("%d rows, want %d", len(storageFaults), rows)
	}
}
