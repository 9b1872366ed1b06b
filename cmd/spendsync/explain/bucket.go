package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"spendsync/cmd/internal/config"
	"spendsync/load/durable"
	"spendsync/load/remote"
)

// ofBucket words what the storage of a bucket answered, what happened on the way to it, and why 'push' or 'pull'
// replaced nothing.
func ofBucket(err error, m *Message) bool {
	if refused(err, m) {
		m.Safe = untouched
		return true
	}
	e, ok := errors.AsType[*remote.Error](err)
	if !ok {
		return false
	}
	m.Safe = untouched
	if e.Endpoint == "" {
		return ofFolder(err, e, m)
	}
	answered := e.Code
	if e.Status != 0 {
		answered = fmt.Sprintf("%d %s", e.Status, cmp.Or(e.Code, http.StatusText(e.Status)))
	}
	scheme, _, _ := strings.Cut(e.Address, "://")
	if tell(m, bucketCauses, bucketError{e, err}, "{storage}", "The storage of "+e.Address, "{address}", e.Address,
		"{answered}", answered, "{object}", e.Object, "{reason}", e.Reason, "{endpoint}", e.Endpoint,
		"{credentials}", credentials[scheme]) {
		return true
	}
	return errors.Is(err, remote.ErrUnavailable) && network(e.Cause, e.Object, e.Reason, side{name: "storage",
		url: e.Endpoint, again: "run it again"}, m)
}

// bucketError is an error of a bucket, and the one that wraps it.
type bucketError struct {
	*remote.Error
	whole error
}

var bucketCauses = []cause[bucketError]{
	{hasCode("RequestTimeTooSkewed"), "{storage} refuses the time of the request (RequestTimeTooSkewed): its clock " +
		"and the one of this machine differ", "set the clock that is wrong, then run it again"},
	{hasCode("SecondLevelDomainForbidden"), "{storage} wants the bucket in the name of the host ({answered})",
		"add ?use_path_style=false to the address"},
	{isKind(remote.ErrLacking), "{storage} does not take a request that is needed for {object} ({answered}): {reason}",
		"check that {endpoint} speaks S3 with signatures of version 4; if it does, use another storage, or a mounted " +
			"folder by file:///FOLDER"},
	{hasCode("NoSuchBucket", "InvalidBucketName"), "There is no bucket of {address} ({answered})",
		"correct the address or {endpoint}, or create the bucket"},
	{func(e bucketError) bool { return errors.Is(e.whole, remote.ErrAddress) && e.Status != 0 && isS3(e) },
		"The region or the endpoint is not that of {address} ({answered}): {reason}",
		"correct AWS_REGION, or {endpoint}"},
	{func(e bucketError) bool { return errors.Is(e.whole, remote.ErrAddress) && e.Status != 0 },
		"The endpoint is not that of {address} ({answered}): {reason}", "correct {endpoint}"},
	{isKind(remote.ErrAddress), "{storage} is asked for nothing: {reason}",
		"use https in {endpoint}, or set " + config.Prefix + "ALLOW_HTTP=true"},
	{func(e bucketError) bool { return errors.Is(e.whole, remote.ErrDenied) && e.Status == 0 },
		"There are no credentials for {address}", "{credentials}"},
	{isKind(remote.ErrProtected), "A lock or a retention of {address} keeps {object} as it is ({answered}): {reason}",
		"let 'push' write to an address without object lock: it replaces current.json and removes what is no longer " +
			"readable"},
	{isKind(remote.ErrArchived), "{storage} has moved {object} into an archive ({answered}): it cannot be read " +
		"before it is restored",
		"restore the objects below {address} in the storage, and end the lifecycle rule that moves them"},
	{func(e bucketError) bool { return errors.Is(e.whole, remote.ErrDenied) && e.Writing && isS3(e) }, refusesAccess,
		checkRights + "; if a policy of the bucket demands encryption, add ?sse=AES256 or ?sse=aws:kms to the address"},
	{isKind(remote.ErrDenied), refusesAccess, checkRights},
	{isKind(remote.ErrFull), "{storage} is full, or the quota of the bucket is used up ({answered})",
		"make room or raise the quota, then run it again"},
	{isKind(durable.ErrLocked), "Another push keeps changing {object} of {address} ({answered})",
		"wait until the other push ends, then run it again"},
	{func(e bucketError) bool {
		return errors.Is(e.whole, remote.ErrUnavailable) && e.Status >= http.StatusBadRequest
	}, "{storage} keeps failing ({answered}): {object}", "wait for the storage and run it again"},
	{func(e bucketError) bool {
		return errors.Is(e.whole, remote.ErrUnavailable) && (errors.Is(e.Cause, io.ErrUnexpectedEOF) || e.Status != 0)
	}, "{storage} breaks off in the middle of {object}: {reason}",
		"check the network and the proxy; if they are right, wait for the storage and run it again"},
}

const (
	refusesAccess = "{storage} refuses access to {object} ({answered})"
	checkRights   = "check the credentials and what they may do: 'push' reads, writes, lists and deletes, 'pull' reads"
)

func isS3(e bucketError) bool { return strings.HasPrefix(e.Address, "s3://") }

func isKind(kind error) func(bucketError) bool {
	return func(e bucketError) bool { return errors.Is(e.whole, kind) }
}

func hasCode(codes ...string) func(bucketError) bool {
	return func(e bucketError) bool { return slices.Contains(codes, e.Code) }
}

// credentials are what can be set to have some, by the scheme of the address.
var credentials = map[string]string{
	"s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or an identity of the cloud",
	"gs": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to the HMAC key of a service account, which Google's " +
		"console makes in the settings of Cloud Storage, under Interoperability; or mount the bucket and use " +
		"file:///FOLDER",
}

const untouched = "what was published stands, in the bucket and on this machine"

// ofFolder words what the file system refused of a bucket that is a folder.
func ofFolder(err error, e *remote.Error, m *Message) bool {
	if !ofStorage(err, m) {
		return false
	}
	variable := config.Prefix + "DATA_DIR"
	m.Happened = strings.ReplaceAll(m.Happened, variable, e.Address)
	m.Do = strings.ReplaceAll(m.Do, " in "+variable, "")
	return true
}

// refused is what 'push' or 'pull' would not replace, and what they did not find.
func refused(err error, m *Message) bool {
	switch {
	case errors.Is(err, remote.ErrOlder), errors.Is(err, remote.ErrOtherHistory):
		m.Do = "push the store that continues the bucket, or pull into an empty folder; 'push --accept-loss' " +
			"replaces what the bucket has"
	case errors.Is(err, remote.ErrNoGeneration):
		m.Do = "choose one of those"
	case errors.Is(err, remote.ErrVanished):
		m.Do = "mount the share or correct the address; if the backup is lost, 'spendsync push --again' begins it anew"
	case errors.Is(err, remote.ErrNothing):
		m.Do = "correct the address, or run 'spendsync push' first"
	default:
		return false
	}
	return true
}
