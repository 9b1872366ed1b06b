package schema

import "encoding/json"

// Null is a value that may be absent. The zero value is absent, so a field that was never set is unknown. With 0 as the
// default, sums would be wrong without notice.
type Null[T comparable] struct {
	V     T
	Valid bool
}

// Some returns a value that is present.
func Some[T comparable](v T) Null[T] { return Null[T]{V: v, Valid: true} }

// MarshalJSON writes the value, or null.
func (n Null[T]) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.V)
}

// UnmarshalJSON reads the value, or null.
func (n *Null[T]) UnmarshalJSON(b []byte) error {
	*n = Null[T]{}
	if string(b) == "null" {
		return nil
	}
	if err := json.Unmarshal(b, &n.V); err != nil {
		return err
	}
	n.Valid = true
	return nil
}
