// Package queries holds the questions: SQL files, embedded. It knows SQL and the
// names of tables, and no Go type of this module.
//
// A file in asks/ is one ready question about a warehouse. Its first comment line
// is the question, its second the trap of the answer.
package queries
