// Package dictionary describes tables and views, for people, programs and the warehouse itself. It groups tables and
// views by subject, and describes each of them and its columns.
package dictionary
