// Package chance derives numbers that look random from a seed, by hashing. They do not depend on the order in which
// they are computed.
package chance
