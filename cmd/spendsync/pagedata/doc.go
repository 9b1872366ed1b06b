// Package pagedata reads the data of the report page from the published warehouse. Each section of the page is a file
// in sql/, with a title and blocks of SQL; a block also names the kind of table or chart that shows its rows. The SQL
// reads the schemas mart and ops, and the answers of ready questions, which are tables of the schema page. All data is
// of one generation, so that "spendsync query" prints the same numbers as the page.
//
// Unknown values stay NULL. The package renders nothing and changes nothing.
package pagedata
