package recorded

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Version is the form of the files that this package reads.
const Version = 1

// File is a recording.
type File struct {
	Version   int        `json:"recording"`
	By        string     `json:"by"`    // the program and its version
	Today     string     `json:"today"` // the day in Chicago
	Exchanges []Exchange `json:"exchanges"`
}

// The interfaces of the service.
const (
	Report = "report"
	API    = "api"
)

// Exchange is one request and its reply. Requests that are alike have their replies in order.
type Exchange struct {
	Of     string            `json:"of"`              // the interface
	Path   string            `json:"path"`            // below the base URL
	Query  map[string]string `json:"query,omitempty"` // the first value of each parameter
	Status int               `json:"status"`          // 0: the connection failed
	Header map[string]string `json:"header,omitempty"`
	// Ahead is how many seconds the service's clock was ahead of the recording machine's; nil: it sent no date.
	Ahead *int `json:"clock_ahead,omitempty"`
	Body  Text `json:"body"`
}

// Text is a body as a JSON text, or as base64 in a list of one text if it is not UTF-8.
type Text string

// MarshalJSON writes the text.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal([]string{base64.StdEncoding.EncodeToString([]byte(t))})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Text) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*t = Text(text)
		return nil
	}
	var coded []string
	if err := json.Unmarshal(b, &coded); err != nil || len(coded) != 1 {
		return errors.New("a body is neither a text nor a list of one text in base64")
	}
	plain, err := base64.StdEncoding.DecodeString(coded[0])
	*t = Text(plain)
	return err
}

// Parse reads a recording.
func Parse(text []byte) (*File, error) {
	f := &File{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("not a recording: %w", err)
	}
	if f.Version != Version {
		return nil, fmt.Errorf("not a recording of the form %d: its \"recording\" is %d", Version, f.Version)
	}
	return f, nil
}
