// Package wire carries replies to the client: faults, the log of requests, and a transport without
// a socket.
package wire
