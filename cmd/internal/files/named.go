package files

import (
	"os"
	"reflect"
	"strconv"
	"strings"

	"spendsync/cmd/internal/exit"
)

// Named is a variable that names a file.
type Named struct {
	Name, Path string
	Limit      int64 // bytes that are read; 0: the file is written
}

// NamedIn lists the set variables of a struct that name a file. Its fields have a tag env with
// the name of the variable, and a tag file: "write", or how many bytes are read.
func NamedIn(prefix string, of any) (all []Named) {
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		use, ok := field.Tag.Lookup("file")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		limit, _ := strconv.ParseInt(use, 10, 64)
		paths, several := v.Field(i).Interface().([]string)
		if !several {
			paths = []string{v.Field(i).String()}
		}
		for _, path := range paths {
			if path != "" {
				all = append(all, Named{prefix + name, path, limit})
			}
		}
	}
	return all
}

// CheckNamed checks every file that a variable names: those to read by [CheckReadable], those to
// write by [CheckReplaceable]. A file that one variable writes must not be the one that another
// variable names: a key would be replaced by metrics.
func CheckNamed(all []Named, dataDir string) error {
	for i, n := range all {
		if strings.ContainsRune(n.Path, 0) {
			return exit.Usagef("%s holds a NUL", n.Name)
		}
		if n.Limit > 0 {
			if err := CheckReadable(n.Name, n.Path, n.Limit); err != nil {
				return err
			}
			continue
		}
		if err := CheckReplaceable(n.Name, n.Path, dataDir); err != nil {
			return err
		}
		for j, other := range all {
			if i != j && isSame(n.Path, other.Path) {
				return exit.Usagef("%s and %s name the same file, %s, and the first is written", n.Name, other.Name,
					n.Path)
			}
		}
	}
	return nil
}

func isSame(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
