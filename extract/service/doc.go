// Package service holds the assumptions about the service as data: the names, envelopes, paths and forms of
// service.yaml, with an operator's file laid over them. Packages extract and transform look every name up here and
// assume none of their own.
//
// It reads no reply and no file.
package service
