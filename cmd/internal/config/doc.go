// Package config reads what can be set, by environment variables, and makes from it
// the clients of both interfaces.
//
// The struct [Config] is the only place that names the variables. Secrets never show
// in a log, an error or a file.
package config
