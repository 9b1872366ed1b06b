package schema

import (
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"
)

// reportedColumns are the columns of spend_daily that hold what the service says of a day:
// all but the account and the day, which are those that were asked for, and what spendsync
// itself notes of a row.
var reportedColumns = slices.DeleteFunc(slices.Clone(SpendDaily.Columns), func(c Column) bool {
	return c.Name == "account_id" || c.Name == "report_date" || strings.HasPrefix(c.Name, "_")
})

// AppendReported appends to b what the service says in a row, so that two rows append the
// same bytes only if it says the same. What it appends is hashed and the hash is stored:
// it must stay as it is for as long as the table has the columns that it has.
func AppendReported(b []byte, r *Spend) []byte {
	for i := range reportedColumns {
		c := &reportedColumns[i]
		field := unsafe.Add(unsafe.Pointer(r), c.offset)
		switch c.Kind {
		case Text:
			if v, ok := valueAt[string](c, field, &b); ok {
				b = binary.AppendUvarint(b, uint64(len(v)))
				b = append(b, v...)
			}
		case Count, Amount, Moment:
			if v, ok := valueAt[int64](c, field, &b); ok {
				b = binary.AppendVarint(b, v)
			}
		case Day:
			if v, ok := valueAt[Date](c, field, &b); ok {
				b = binary.AppendVarint(b, int64(v))
			}
		case Flag:
			if v, ok := valueAt[bool](c, field, &b); ok && v {
				b = append(b, 1)
			} else if ok {
				b = append(b, 0)
			}
		}
	}
	return b
}

// valueAt is the value of a field, unless it is NULL. Whether it is goes into b first,
// where it may be.
func valueAt[T comparable](c *Column, field unsafe.Pointer, b *[]byte) (v T, ok bool) {
	if !c.Nullable {
		return *(*T)(field), true
	}
	n := (*Null[T])(field)
	if n.Valid {
		*b = append(*b, 1)
	} else {
		*b = append(*b, 0)
	}
	return n.V, n.Valid
}

// SameReported says whether the service says the same in two rows of one key.
func SameReported(a, b *Spend) bool {
	for i := range reportedColumns {
		if c := &reportedColumns[i]; !c.Key && !c.equal(unsafe.Pointer(a), unsafe.Pointer(b)) {
			return false
		}
	}
	return true
}

// SameNumbers says whether two rows have the same numbers.
func SameNumbers(a, b *Spend) bool {
	for i := range ownNumbers {
		if !ownNumbers[i].equal(unsafe.Pointer(a), unsafe.Pointer(b)) {
			return false
		}
	}
	return true
}
