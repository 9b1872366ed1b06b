// Package config reads the configuration from environment variables, and makes the clients of both interfaces.
//
// The struct [Config] is the only place that names the variables. Secrets never appear in a log, an error or a file.
package config
