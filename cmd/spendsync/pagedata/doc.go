// Package pagedata reads the data of the report page from the published warehouse. Each section of the page is a file
// in sql/. The file has a title and blocks: an SQL query, and the kind of table or chart that shows its rows. The
// queries read the schemas mart and ops, and a temporary schema page, which has the results of some ready questions.
// All data is of one generation, so the page shows the same numbers as "spendsync query".
//
// Unknown values stay NULL. The package does no drawing, and changes nothing in the store.
package pagedata
