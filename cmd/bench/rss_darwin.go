package main

// maxrssUnit is what Rusage.Maxrss counts, in bytes.
const maxrssUnit = 1
