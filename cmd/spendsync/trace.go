package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/files"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract/outbound"
)

// tracing is the trace of one run. Without an endpoint nothing is recorded.
type tracing struct {
	tracer trace.Tracer
	run    trace.Span
	flush  func(context.Context) error // nil: there is nothing to send

	lastCall func(context.Context) (context.Context, context.CancelFunc) // bounds the sending
}

// openTelemetry are the usual variables, OTEL_..., by name.
func openTelemetry(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(k, "OTEL_") {
			env[k] = v
		}
	}
	return env
}

// otlp is a variable of the exporter: the one for traces, or else the one for all signals.
func otlp(env map[string]string, name string) string {
	return cmp.Or(env["OTEL_EXPORTER_OTLP_TRACES_"+name], env["OTEL_EXPORTER_OTLP_"+name])
}

// traceEndpoint reports whether traces are wanted, and returns the reason if we cannot send them in
// the configured way.
func traceEndpoint(env map[string]string) (wanted bool, why string) {
	if otlp(env, "ENDPOINT") == "" ||
		strings.EqualFold(env["OTEL_SDK_DISABLED"], "true") {
		return false, ""
	}
	if e := env["OTEL_TRACES_EXPORTER"]; e != "" && e != "otlp" {
		return false, "OTEL_TRACES_EXPORTER=" + e + ": only otlp is spoken here"
	}
	if p := otlp(env, "PROTOCOL"); p != "" && p != "http/protobuf" {
		return false, "OTEL_EXPORTER_OTLP_PROTOCOL=" + p + ": only http/protobuf is spoken here"
	}
	return true, ""
}

// startTrace starts the trace of a run. Without an endpoint it costs nothing.
func (r *runner) startTrace(ctx context.Context, command, runID string) (context.Context, *tracing) {
	t := &tracing{tracer: noop.NewTracerProvider().Tracer(""), lastCall: r.app.lastCall}
	wanted, why := traceEndpoint(openTelemetry(r.app.environ))
	if why != "" {
		r.app.log.Warn("no traces are sent", "why", why)
	}
	if wanted {
		t.start(ctx, openTelemetry(r.app.environ), r.app.log)
	}
	ctx, t.run = t.tracer.Start(ctx, command, trace.WithAttributes(
		attribute.String("spendsync.account", r.app.cfg.Account), attribute.String("spendsync.run_id", runID)))
	return ctx, t
}

// collectorTimeout is the default of OTEL_EXPORTER_OTLP_TIMEOUT.
const collectorTimeout = 10 * time.Second

// collectorClient sends traces. The library would follow redirects, with the keys of
// OTEL_EXPORTER_OTLP_HEADERS, so the client is ours, and with it what the library would
// have read for its own: certificates and the timeout.
func collectorClient(env map[string]string) (*http.Client, error) {
	config := &tls.Config{}
	read := map[string][]byte{}
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if path := otlp(env, name); path != "" {
			var err error
			if read[name], err = files.Read(path, files.MaxSecret); err != nil {
				return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_%s: %w", name, err)
			}
		}
	}
	if pem := read["CERTIFICATE"]; pem != nil {
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_CERTIFICATE holds no certificate")
		}
	}
	if cert, key := read["CLIENT_CERTIFICATE"], read["CLIENT_KEY"]; cert != nil && key != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and CLIENT_KEY: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	timeout := collectorTimeout
	if ms, err := strconv.Atoi(otlp(env, "TIMEOUT")); err == nil {
		timeout = time.Duration(ms) * time.Millisecond
	}
	return outbound.Client(outbound.Options{TLS: config, MaxBody: maxReply}, timeout), nil
}

// start makes the tracer that sends. The library reads the address and the headers from the
// OTEL_ variables.
func (t *tracing) start(ctx context.Context, env map[string]string, log *slog.Logger) {
	client, err := collectorClient(env)
	if err != nil {
		log.Warn("no traces are sent", "why", phrase.OneLine(err.Error()))
		return
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithHTTPClient(client))
	if err != nil {
		log.Warn("no traces are sent", "why", phrase.OneLine(err.Error()))
		return
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "spendsync"), attribute.String("service.version",
			version())), resource.WithFromEnv())
	if err != nil {
		log.Warn("what OTEL_RESOURCE_ATTRIBUTES says is not all taken in", "why", phrase.OneLine(err.Error()))
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(&warningExporter{exporter, log}),
		sdktrace.WithResource(about))
	t.tracer, t.flush = provider.Tracer("spendsync"), provider.Shutdown
}

// warningExporter logs a warning for spans that could not be sent: tracing must not change a run's
// outcome.
type warningExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (e *warningExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.Warn("traces could not be sent", "spans", len(spans), "error", briefly(err))
	}
	return nil
}

// end ends the trace of a run and sends the remaining spans.
func (t *tracing) end(ctx context.Context, code int) {
	t.run.SetAttributes(attribute.Int("spendsync.exit_code", code))
	if code != exit.OK {
		t.run.SetStatus(codes.Error, exit.About(code).Means)
	}
	t.run.End()
	if t.flush != nil {
		ctx, cancel := t.lastCall(ctx)
		defer cancel()
		_ = t.flush(ctx) // warned of where it happens
	}
}

// stage starts one stage of a run as a span of its own. Errors show no secrets, here as in the log.
func (t *tracing) stage(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, job.EndStage) {
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attributesOf(attrs)...))
	return ctx, func(err error, attrs ...slog.Attr) {
		if err != nil {
			span.SetStatus(codes.Error, phrase.OneLine(err.Error()))
		}
		span.SetAttributes(attributesOf(attrs)...)
		span.End()
	}
}

func attributesOf(attrs []slog.Attr) (of []attribute.KeyValue) {
	for _, a := range attrs {
		key := "spendsync." + a.Key
		if a.Value.Kind() == slog.KindInt64 {
			of = append(of, attribute.Int64(key, a.Value.Int64()))
		} else {
			of = append(of, attribute.String(key, a.Value.String()))
		}
	}
	return of
}
