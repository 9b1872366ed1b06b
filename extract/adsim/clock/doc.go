// Package clock contains a clock that tests can set, and calendar days.
package clock
