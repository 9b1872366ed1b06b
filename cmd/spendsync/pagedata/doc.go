// Package pagedata asks the published warehouse for what the report page shows: the
// views of schema mart and the tables of schema ops, all of one generation.
//
// What is not known stays unknown on its way to the page. The package draws nothing
// and changes nothing.
package pagedata
