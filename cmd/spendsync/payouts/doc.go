// Package payouts reads the operator's own file of what conversions earn.
//
// The file is taken whole or not at all: an error names the file, and line and value of
// everything in it that is wrong. Amounts are exact. The package writes nothing.
package payouts
