// Package wire sends replies to the client: it injects faults, logs requests, and has a transport without a socket.
package wire
