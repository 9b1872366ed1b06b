package adsim

// appendHurtRow appends a row that a fault has changed.
func (w *rowWriter) appendHurtRow(dst []byte, r *row, f *Fault) []byte {
	start := len(dst)
	for i, c := range w.columns {
		mine := columnNames[c] == f.Column
		if mine && f.Kind == MissingKey {
			continue
		}
		dst = append(dst, w.keys[i]...)
		switch {
		case mine && f.Kind == WrongType:
			dst = append(dst, f.wrong()...)
		case c == colDate && f.Kind == OtherDay:
			date := f.Value
			if date == "" {
				date = (r.day - 1).String()
			}
			dst = appendString(dst, date, false)
		default:
			dst = w.appendColumn(dst, c, r)
		}
		if mine && f.Kind == RepeatKey {
			dst = f.appendMember(dst, f.Column)
		}
	}
	if f.Kind == ExtraKey {
		dst = f.appendMember(dst, f.Column)
	}
	if len(dst) == start {
		return append(dst, '{', '}')
	}
	dst[start] = '{'
	return append(dst, '}')
}
