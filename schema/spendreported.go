package schema

import (
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"
)

// reportedColumns are the columns of spend_daily whose values come with the report's rows. The other columns are the
// account and the day (spendsync asks for them), the name of the campaign (a label), and those that spendsync itself
// sets (their names begin with _).
var reportedColumns = slices.DeleteFunc(slices.Clone(SpendDaily.Columns), func(c Column) bool {
	return c.Name == "account_id" || c.Name == "report_date" || c.Name == "campaign_name" || strings.HasPrefix(c.Name,
		"_")
})

// AppendReported appends the reported values of a row to b, so that two rows append the same bytes only if these values
// are equal. The bytes are hashed and the hash is stored, so the encoding must not change as long as the table keeps
// its columns.
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

// valueAt returns the value of a field; ok is false if the value is NULL. For a nullable column, valueAt first appends
// a byte to b: 1 for a value, 0 for NULL.
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

// SameReported reports whether two rows with the same key have the same reported values.
func SameReported(a, b *Spend) bool {
	for i := range reportedColumns {
		if c := &reportedColumns[i]; !c.Key && !c.equal(unsafe.Pointer(a), unsafe.Pointer(b)) {
			return false
		}
	}
	return true
}

// Restates reports whether a number that is known (not NULL) in the stored row differs in the row just read.
func Restates(stored, read *Spend) bool {
	for i := range ownNumbers {
		c := &ownNumbers[i]
		isKnown := !c.Nullable || (*Null[int64])(unsafe.Add(unsafe.Pointer(stored), c.offset)).Valid
		if isKnown && !c.equal(unsafe.Pointer(stored), unsafe.Pointer(read)) {
			return true
		}
	}
	return false
}

// restatedNumber is a number column of spend_daily with its two columns in spend_change.
type restatedNumber struct{ number, old, new Column }

var restatedNumbers = func() (restated []restatedNumber) {
	for _, c := range ownNumbers {
		r := restatedNumber{number: c}
		for name, to := range map[string]*Column{"old_" + c.Name: &r.old, "new_" + c.Name: &r.new} {
			columns := SpendChanges.ColumnsNamed(name)
			if len(columns) != 1 || !columns[0].Nullable || columns[0].Kind != c.Kind {
				panic("schema: a restatement of " + c.Name + " has no column " + name + " in spend_change")
			}
			*to = columns[0]
		}
		restated = append(restated, r)
	}
	return restated
}()

// SetNumbers sets the old numbers from the stored row, the new numbers from the row just read, and the operation. The
// operation is an insert if there is no stored row (nil), and a delete if no row was read.
func (l *SpendChange) SetNumbers(stored, read *Spend) {
	switch l.Op = OpUpdate; {
	case stored == nil:
		l.Op = OpInsert
	case read == nil:
		l.Op = OpDelete
	}
	for i := range restatedNumbers {
		r := &restatedNumbers[i]
		l.setNumber(&r.old, &r.number, stored)
		l.setNumber(&r.new, &r.number, read)
	}
}

func (l *SpendChange) setNumber(to, number *Column, from *Spend) {
	n := (*Null[int64])(unsafe.Add(unsafe.Pointer(l), to.offset))
	if *n = (Null[int64]{}); from == nil {
		return
	}
	if field := unsafe.Add(unsafe.Pointer(from), number.offset); number.Nullable {
		*n = *(*Null[int64])(field)
	} else {
		*n = Some(*(*int64)(field))
	}
}
