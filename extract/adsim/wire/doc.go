// Package wire is what lies between a reply and the client: faults, the log of requests, and a transport without
// a socket.
package wire
