package clouds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"cloud.google.com/go/compute/metadata"
	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/option"

	"spendsync/extract/outbound"
)

// The address of Google's object storage, and the right to read and write there.
const (
	googleStorage = "https://storage.googleapis.com"
	googleScope   = "https://www.googleapis.com/auth/devstorage.read_write"
)

// maxTokenReply exceeds any reply with a token.
const maxTokenReply = 1 << 20

// googleTries is how often a request to Google's storage is sent.
const googleTries = 4

// tokenWait is how long a request for a token may take.
const tokenWait = time.Minute

// Google opens a bucket of Google's. A token for it takes precedence over the credentials of the options; nil: there is
// none.
func (c *Clouds) Google(ctx context.Context, bucket string, token *oauth2.Token) (*blob.Bucket, error) {
	endpoint, err := url.Parse(cmp.Or(c.options.GoogleEndpoint, googleStorage))
	if err != nil {
		return nil, err // New has checked it
	}
	tokens := oauth2.StaticTokenSource(token)
	if token == nil {
		if tokens, err = c.google(); err != nil {
			return nil, err
		}
	}
	// With this variable the library would send without our client.
	if err := os.Unsetenv("STORAGE_EMULATOR_HOST"); err != nil {
		return nil, err
	}
	client := outbound.Over(&oauth2.Transport{Source: tokens, Base: c.transport(0, endpoint)}, 0)
	// The source of tokens stands here as well, for without one the library looks for credentials by itself.
	s, err := storage.NewClient(ctx, option.WithHTTPClient(client), option.WithTokenSource(tokens),
		option.WithEndpoint(endpoint.JoinPath("/storage/v1/").String()), storage.WithJSONReads())
	if err != nil {
		return nil, err
	}
	// Its own number is infinite. Every object is written whole, so writing it again does no harm.
	s.SetRetry(storage.WithMaxAttempts(googleTries), storage.WithPolicy(storage.RetryAlways))
	return gcsblob.OpenBucket(ctx, nil, bucket, &gcsblob.Options{Client: s})
}

// googleTokens are those of the key file, or else of the machine's metadata server, as in GKE.
func (c *Clouds) googleTokens() (oauth2.TokenSource, error) {
	client := outbound.Over(c.transport(maxTokenReply), tokenWait)
	if c.options.GoogleKey == nil {
		return oauth2.ReuseTokenSource(nil, machineTokens{metadata.NewClient(client)}), nil
	}
	var key struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(c.options.GoogleKey, &key); err != nil {
		return nil, fmt.Errorf("%w: GOOGLE_APPLICATION_CREDENTIALS names a file that is not JSON", ErrDenied)
	}
	switch key.Type {
	case google.ServiceAccount, google.ExternalAccount, google.ImpersonatedServiceAccount, google.AuthorizedUser:
	default:
		return nil, fmt.Errorf("%w: GOOGLE_APPLICATION_CREDENTIALS names a file of type %q, not service_account, "+
			"external_account, impersonated_service_account or authorized_user", ErrDenied, key.Type)
	}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, client)
	creds, err := google.CredentialsFromJSONWithType(ctx, c.options.GoogleKey, key.Type, googleScope)
	if err != nil {
		return nil, fmt.Errorf("%w: GOOGLE_APPLICATION_CREDENTIALS: %w", ErrDenied, err)
	}
	return shortErrors{creds.TokenSource}, nil
}

// machineTokens are those of the metadata server of a machine or a pod of Google's.
type machineTokens struct{ server *metadata.Client }

func (m machineTokens) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tokenWait)
	defer cancel()
	text, err := m.server.GetWithContext(ctx, "instance/service-accounts/default/token?scopes="+
		url.QueryEscape(googleScope))
	if err != nil {
		return nil, fmt.Errorf("%w: GOOGLE_APPLICATION_CREDENTIALS is not set, and the metadata server gives no "+
			"token: %w", ErrNoIdentity, err)
	}
	var token struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := json.Unmarshal([]byte(text), &token); err != nil || token.AccessToken == "" {
		return nil, errors.New("what the metadata server answers is no token")
	}
	return &oauth2.Token{AccessToken: token.AccessToken,
		Expiry: time.Now().Add(time.Duration(token.ExpiresIn) * time.Second)}, nil
}

// shortErrors leave out the body of a refusal, which may repeat what was sent.
type shortErrors struct{ oauth2.TokenSource }

// Token is a token, or says by status and code why there is none.
func (s shortErrors) Token() (*oauth2.Token, error) {
	token, err := s.TokenSource.Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		says := fmt.Sprintf("no token for the key in GOOGLE_APPLICATION_CREDENTIALS: %d %s",
			refused.Response.StatusCode, refused.ErrorCode)
		if isTokenRefusal(refused.Response.StatusCode) {
			return nil, Refusal{ErrDenied, says, refused.Response.StatusCode}
		}
		return nil, errors.New(says)
	}
	return token, lasting(err)
}
