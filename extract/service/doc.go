// Package service holds the assumptions about the service as data: the names of keys, the envelopes, the paths and the
// formats of times in service.yaml. An operator's file may extend or override them. Packages extract and transform look
// up every name here and assume none of their own.
//
// The package reads no replies and no files.
package service
