package lake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/catalog/rest"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"spendsync/extract/outbound"
)

// tokenWait is how long a request for a token may take.
const tokenWait = 30 * time.Second

// login is one token for all requests to a catalog, in exchange for client credentials: until it expires, or until the
// catalog refuses it, as after a change of its keys. The library's own asks for one more, and keeps it to the end.
type login struct {
	credentials clientcredentials.Config
	client      *http.Client

	mu    sync.Mutex
	token *oauth2.Token
}

// login is that of the client credentials; nil: there are none.
func (o Options) login(transport http.RoundTripper) *login {
	if o.Credential == "" {
		return nil
	}
	l := &login{client: outbound.Over(transport, tokenWait), credentials: clientcredentials.Config{
		ClientSecret: o.Credential, TokenURL: o.OAuthURL, Scopes: []string{"catalog"},
		AuthStyle: oauth2.AuthStyleInParams}}
	if id, secret, ok := strings.Cut(o.Credential, ":"); ok {
		l.credentials.ClientID, l.credentials.ClientSecret = id, secret
	}
	if o.OAuthURL == "" {
		l.credentials.TokenURL = strings.TrimSuffix(o.Catalog, "/") + "/v1/oauth/tokens"
	}
	if o.Scope != "" {
		l.credentials.Scopes = []string{o.Scope}
	}
	return l
}

// AuthHeader is the header of a request to the catalog.
func (l *login) AuthHeader() (name, value string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.token.Valid() {
		token, err := l.credentials.Token(context.WithValue(context.Background(), oauth2.HTTPClient, l.client))
		if err != nil {
			return "", "", refusedToken(err)
		}
		l.token = token
	}
	return "Authorization", valueOf(l.token), nil
}

func valueOf(t *oauth2.Token) string { return t.Type() + " " + t.AccessToken }

// after is the header after the catalog has refused one: with another token, which all requests share.
func (l *login) after(refused string) (value string, err error) {
	l.mu.Lock()
	if l.token != nil && valueOf(l.token) == refused {
		l.token = nil
	}
	l.mu.Unlock()
	_, value, err = l.AuthHeader()
	return value, err
}

// refusedToken is why there is no token, without the reply, which may hold the credentials: a refusal, another host, or
// a server that fails.
func refusedToken(err error) error {
	said, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return fmt.Errorf("token: %w", err)
	}
	switch status := said.Response.StatusCode; {
	case status >= 300 && status < 400:
		return fmt.Errorf("token: %w: %s", outbound.ErrRefused, said.Response.Status)
	case status >= 500, status == http.StatusTooManyRequests:
		return fmt.Errorf("token: %s", said.Response.Status)
	default:
		return fmt.Errorf("%w: token: %s %s %s", rest.ErrOAuthError, said.Response.Status, said.ErrorCode,
			said.ErrorDescription)
	}
}
