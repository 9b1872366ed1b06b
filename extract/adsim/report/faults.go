package report

import (
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/wire"
)

// appendHurtRow appends a row that a fault has changed.
func (w *rowWriter) appendHurtRow(dst []byte, r *ledger.Row, f *wire.Fault) []byte {
	start := len(dst)
	for i, c := range w.columns {
		mine := columnNames[c] == f.Column
		if mine && f.Kind == wire.MissingKey {
			continue
		}
		dst = append(dst, w.keys[i]...)
		switch {
		case mine && f.Kind == wire.WrongType:
			dst = append(dst, f.Wrong()...)
		case c == colDate && f.Kind == wire.OtherDay:
			date := f.Value
			if date == "" {
				date = (r.Day - 1).String()
			}
			dst = jsontext.AppendString(dst, date, false)
		default:
			dst = w.appendColumn(dst, c, r)
		}
		if mine && f.Kind == wire.RepeatKey {
			dst = f.AppendMember(dst, f.Column)
		}
	}
	if f.Kind == wire.ExtraKey {
		dst = f.AppendMember(dst, f.Column)
	}
	if len(dst) == start {
		return append(dst, '{', '}')
	}
	dst[start] = '{'
	return append(dst, '}')
}
