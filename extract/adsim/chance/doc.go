// Package chance hashes keys, so that everything that looks random follows from a seed and depends on no order.
package chance
