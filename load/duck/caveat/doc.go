// Package caveat reads an SQL statement as DuckDB's parser understands it and finds where its answer is easily wrong:
// a join that counts spend several times, a mean of ratios, the reader's clock in place of the account's, a day that
// was not over. It opens nothing. What depends on the stored data is returned as a [Check] or as [Days], for the caller
// to look up.
//
// A finding needs positive evidence. If the package does not understand the tree, it reports nothing.
package caveat
