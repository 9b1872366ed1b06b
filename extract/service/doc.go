// Package service holds the assumptions about the service as data: the names, envelopes, paths and forms in
// service.yaml, which an operator's file may extend or override. Packages extract and transform look up every name here
// and assume none of their own.
//
// The package reads no replies and no files.
package service
