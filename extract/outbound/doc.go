// Package outbound owns the HTTP transport of every client in spendsync and spendsync-lake:
// report, advertiser API, Pushgateway, traces, Iceberg catalog, OAuth2, object storage.
//
// What it promises, whatever the library on top does:
//
//   - A request with our credentials never follows a redirect to another host, or from https
//     to http. The same host with another port counts as another host.
//   - Every step of a request has a limit: dialing, TLS, waiting for headers, the size of the
//     headers and, where [Options.MaxBody] is set, the size of the decompressed body. The body
//     of an error or a redirect is limited to 1 MiB.
//   - A server is trusted if its certificate is from an authority of the system or of [Trust].
//   - No proxy sees a request that is not encrypted.
//
// The package logs nothing. It reads only the usual environment variables HTTPS_PROXY and NO_PROXY. No other package
// makes an http.Client or an http.Transport; TestHouse_ClientsAreMadeInOnePlace in cmd/spendsync checks this rule.
package outbound
