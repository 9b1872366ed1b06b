// Package bom lists what this binary is made of: its modules with their versions,
// sums and licences, as CycloneDX and as plain lines. It reads what the linker left
// in the binary, so that the list cannot be of another build.
package bom
