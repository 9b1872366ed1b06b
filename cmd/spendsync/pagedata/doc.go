// Package pagedata asks the published warehouse for what the report page shows. A section of the page is a file in
// sql/: a title, and blocks of SQL with the kind in which each one is drawn. The SQL asks ready questions (as tables
// of schema page), views of schema mart and tables of schema ops, all of one generation, so that a number on the page
// is the number that "spendsync query" answers.
//
// What is not known stays NULL on its way to the page. The package draws nothing and changes nothing.
package pagedata
