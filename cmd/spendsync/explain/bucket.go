package explain

import (
	"errors"
	"fmt"
	"io"
	"net/http"
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
		answered = fmt.Sprintf("%d %s", e.Status, e.Code)
	}
	if e.Code == "" {
		answered = fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	}
	storage := fmt.Sprintf("The storage of %s", e.Address)
	scheme, _, _ := strings.Cut(e.Address, "://")
	switch {
	case e.Code == "RequestTimeTooSkewed":
		m.Happened = storage + " refuses the time of the request (RequestTimeTooSkewed): its clock and the one of " +
			"this machine differ"
		m.Do = "set the clock that is wrong, then run it again"
	case e.Code == "SecondLevelDomainForbidden":
		m.Happened = fmt.Sprintf("%s wants the bucket in the name of the host (%s)", storage, answered)
		m.Do = "add ?use_path_style=false to the address"
	case errors.Is(err, remote.ErrLacking):
		m.Happened = fmt.Sprintf("%s does not take a request that is needed for %s (%s): %s", storage, e.Object,
			answered, e.Reason)
		m.Do = "check that " + e.Endpoint + " speaks S3 with signatures of version 4; if it does, use another " +
			"storage, or a mounted folder by file:///FOLDER"
	case e.Code == "NoSuchBucket", e.Code == "InvalidBucketName":
		m.Happened = fmt.Sprintf("There is no bucket of %s (%s)", e.Address, answered)
		m.Do = "correct the address or " + e.Endpoint + ", or create the bucket"
	case errors.Is(err, remote.ErrAddress) && e.Status != 0:
		m.Happened = fmt.Sprintf("The endpoint is not that of %s (%s): %s", e.Address, answered, e.Reason)
		m.Do = "correct " + e.Endpoint
		if scheme == "s3" {
			m.Happened = strings.Replace(m.Happened, "The endpoint", "The region or the endpoint", 1)
			m.Do = "correct AWS_REGION, or " + e.Endpoint
		}
	case errors.Is(err, remote.ErrAddress):
		m.Happened = fmt.Sprintf("%s is asked for nothing: %s", storage, e.Reason)
		m.Do = "use https in " + e.Endpoint + ", or set " + config.Prefix + "ALLOW_HTTP=true"
	case errors.Is(err, remote.ErrDenied) && e.Status == 0:
		m.Happened = "There are no credentials for " + e.Address
		m.Do = credentials[scheme]
	case errors.Is(err, remote.ErrDenied):
		m.Happened = fmt.Sprintf("%s refuses access to %s (%s)", storage, e.Object, answered)
		m.Do = "check the credentials and what they may do: 'push' reads, writes, lists and deletes, 'pull' reads"
	case errors.Is(err, remote.ErrFull):
		m.Happened = fmt.Sprintf("%s is full, or the quota of the bucket is used up (%s)", storage, answered)
		m.Do = "make room or raise the quota, then run it again"
	case errors.Is(err, durable.ErrLocked):
		m.Happened = fmt.Sprintf("Another push keeps changing %s of %s (%s)", e.Object, e.Address, answered)
		m.Do = "wait until the other push ends, then run it again"
	case !errors.Is(err, remote.ErrUnavailable):
		return false
	case e.Status >= http.StatusBadRequest:
		m.Happened = fmt.Sprintf("%s keeps failing (%s): %s", storage, answered, e.Object)
		m.Do = "wait for the storage and run it again"
	case errors.Is(e.Cause, io.ErrUnexpectedEOF), e.Status != 0:
		m.Happened = fmt.Sprintf("%s breaks off in the middle of %s: %s", storage, e.Object, e.Reason)
		m.Do = "check the network and the proxy; if they are right, wait for the storage and run it again"
	default:
		return network(e.Cause, e.Object, e.Reason, side{name: "storage", url: e.Endpoint, again: "run it again"}, m)
	}
	return true
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
	case errors.Is(err, remote.ErrNothing):
		m.Do = "correct the address, or run 'spendsync push' first"
	default:
		return false
	}
	return true
}
