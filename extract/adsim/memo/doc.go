// Package memo is a bounded cache of computed results.
package memo
