// Package variations changes replies as services of this kind might: other names, other forms, other wires.
package variations
