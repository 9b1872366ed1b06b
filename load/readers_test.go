package load

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// uniform returns a run in which all rows of all days have the same spend. A reader that finds two amounts has seen a
// mix of generations.
func uniform(n int) sceneRun {
	r := sceneRun{id: fmt.Sprintf("run%05d", n), at: now.Add(time.Duration(n) * time.Minute), used: int64(n),
		days: map[schema.Date][]schema.Spend{}}
	for d := day - 2; d <= day; d++ {
		for _, source := range []string{"S1", "S2", "S3"} {
			r.days[d] = append(r.days[d], schematest.SpendRow(d, source, schema.Money(n)))
		}
	}
	return r
}

// readUntilTold is the main function of a reader process. It reads the DuckDB file and the Parquet files again and
// again until its input ends, and prints the number of reads and the errors.
func readUntilTold(dir string) {
	stop := make(chan bool)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	read, moved := 0, 0
	for {
		select {
		case <-stop:
			fmt.Printf("read %d times, %d sets of Parquet files were replaced meanwhile\n", read, moved)
			return
		default:
		}
		if err := readDuckDB(filepath.Join(dir, duck.FileName)); err != nil {
			fmt.Println("error:", err)
			return
		}
		consistent, err := readParquetSet(dir)
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		if read++; !consistent {
			moved++
		}
	}
}

// readDuckDB reads the DuckDB file once.
func readDuckDB(path string) error {
	db, err := sql.Open("duckdb", path+"?access_mode=read_only&threads=1")
	if err != nil {
		return err
	}
	defer db.Close()
	var rows, least, most, generation int64
	const q = "SELECT count(*), min(spend * 1000000)::BIGINT, max(spend * 1000000)::BIGINT, (SELECT max(generation) " +
		"FROM ops.run) FROM spend_daily"
	if err := db.QueryRow(q).Scan(&rows, &least, &most, &generation); err != nil {
		return err
	}
	if rows != 9 || least != most || generation != least {
		return fmt.Errorf("a mix: %d rows of %d to %d, generation %d", rows, least, most, generation)
	}
	return nil
}

// readParquetSet reads a consistent set of Parquet files by the rule in the package comment. It returns false if the
// set was replaced meanwhile.
func readParquetSet(dir string) (consistent bool, err error) {
	m, err := manifest.Read(dir)
	if err != nil {
		return false, err
	}
	spends := map[schema.Money]int{}
	for path, info := range m.Accounts["acme"].Files {
		if info.Table != schema.SpendDaily.Name {
			continue
		}
		rows, err := parquet.ReadRows(filepath.Join(dir, path), schema.SpendDaily)
		if err != nil {
			return false, err // the set may be mixed, but each file must be complete
		}
		for _, r := range rows {
			spends[r.Spend]++
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, manifest.CommitName)); err == nil {
		return false, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	again, err := manifest.Read(dir)
	if err != nil {
		return false, err
	}
	if again.Generation != m.Generation {
		return false, nil
	}
	if len(spends) != 1 || spends[schema.Money(m.Generation)] != 9 {
		return false, fmt.Errorf("generation %d is a mix: %v", m.Generation, spends)
	}
	return true, nil
}

// TestReaders_ThroughManyPublishes runs reader processes while generations are published: they see no error and no mix
// of generations.
func TestReaders_ThroughManyPublishes(t *testing.T) {
	schematest.Long(t)
	t.Parallel()
	publishes, readers := schematest.Times(4, 12, 200), 2
	dir := filepath.Join(quickDir(t), "data")
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	o.DuckDB.Views = nil
	if err := uniform(1).do(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	type process struct {
		stop io.Closer
		out  *bufio.Reader
		cmd  *exec.Cmd
	}
	var all []process
	for range readers {
		cmd := exec.CommandContext(t.Context(), os.Args[0], dir)
		cmd.Env = append(os.Environ(), "TEST_PROCESS=reader")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, process{in, bufio.NewReader(out), cmd})
	}
	for n := 2; n <= publishes; n++ {
		if err := uniform(n).do(context.Background(), dir, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range all {
		p.stop.Close()
		line, err := p.out.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "read ") || strings.HasPrefix(line, "read 0 ") {
			t.Errorf("a reader: %s %v", line, err)
		}
		t.Logf("%d generations: %s", publishes, strings.TrimSpace(line))
		_ = p.cmd.Wait()
	}
}

// TestReaders_MeetADeadCommit: after a run has died between two renames of its commit, the files are of two generations
// until the next start, and readers detect it.
func TestReaders_MeetADeadCommit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(quickDir(t), "data")
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	o.DuckDB.Views = nil
	if err := uniform(1).do(t.Context(), dir, o); err != nil {
		t.Fatal(err)
	}
	moves := 0
	o.crash = func(step string) error {
		if strings.HasPrefix(step, "move parquet/spend_daily") {
			if moves++; moves > 1 {
				return errCrash
			}
		}
		return nil
	}
	if err := uniform(2).do(t.Context(), dir, o); !errors.Is(err, errCrash) {
		t.Fatalf("run = %v, want the crash", err)
	}
	if err := readDuckDB(filepath.Join(dir, duck.FileName)); err != nil {
		t.Error(err)
	}
	if consistent, err := readParquetSet(dir); consistent || err != nil {
		t.Errorf("the set counts as consistent: %v, %v", consistent, err)
	}
	o.crash = nil
	s, err := Open(t.Context(), dir, "acme", o)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if consistent, err := readParquetSet(dir); !consistent || err != nil {
		t.Errorf("after the next start: %v, %v", consistent, err)
	}
}
