// Package jsontext writes JSON byte by byte, in exact and in odd forms: amounts without floats, keys that come
// twice, numbers as text. The report is rendered with it, and variations edit replies with it; replies of a plain
// form are encoded by encoding/json.
package jsontext
