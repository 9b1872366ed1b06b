// Package clock is the time of a simulated service: a clock that can be set, and Chicago days.
package clock
