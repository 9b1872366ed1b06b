// Package record makes a recording of the service that can be sent to others: one reply of each kind, error bodies
// included, as structure, types, lengths and forms. Names, IDs, texts, amounts and credentials are replaced.
//
// What stays as it came: the names of service.yaml and of the service's description, null, true, false, 0 and 1,
// punctuation, zeros at the ends of numbers, times of day, and the numbers of pages. What is replaced is replaced
// alike everywhere, so IDs still join, and the rows of the report differ from the service's own sums by exactly as
// much as before. How values are replaced is a secret of the process, which ends with it.
//
// It opens no file and sends nothing by itself.
package record
