package manifest

// Replaced rows leave dead space in the DuckDB file. If that makes the file larger than a new file by the factor bloat,
// the file is built from nothing. A file below bloatFreeSize may have any amount of dead space.
const (
	bloat         = 1.8
	bloatFreeSize = 64 << 20
)

// GrownTooMuch reports whether the DuckDB file must be built from nothing, because an update would leave too much dead
// space. The argument is the number of rows that the update would replace.
func (m *Manifest) GrownTooMuch(dead int64) bool {
	w := m.Warehouse
	if w.BuiltRows == 0 {
		return false
	}
	row := float64(w.BuiltBytes) / float64(w.BuiltRows)
	will := float64(w.Bytes) + row*float64(dead)
	return will >= bloatFreeSize && will > bloat*row*float64(m.Rows())
}
