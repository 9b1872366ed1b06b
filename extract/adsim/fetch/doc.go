// Package fetch downloads a file once from a public address.
package fetch
