// Package memo keeps results by everything that they depend on.
package memo
