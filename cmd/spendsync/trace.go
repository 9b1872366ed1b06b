package main

import (
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
)

// tracing is the trace of one run. Without an endpoint nothing is recorded.
type tracing struct {
	tracer trace.Tracer
	run    trace.Span
	flush  func(context.Context) error // nil: there is nothing to send
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

// traceEndpoint says whether anybody wants traces, and whether we can send them in
// the way asked for.
func traceEndpoint(env map[string]string) (wanted bool, why string) {
	first := func(names ...string) string {
		for _, n := range names {
			if env[n] != "" {
				return env[n]
			}
		}
		return ""
	}
	if first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "" || strings.EqualFold(env["OTEL_SDK_DISABLED"], "true") {
		return false, ""
	}
	if e := env["OTEL_TRACES_EXPORTER"]; e != "" && e != "otlp" {
		return false, "OTEL_TRACES_EXPORTER=" + e + ": only otlp is spoken here"
	}
	if p := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); p != "" && p != "http/protobuf" {
		return false, "OTEL_EXPORTER_OTLP_PROTOCOL=" + p + ": only http/protobuf is spoken here"
	}
	return true, ""
}

// startTrace begins the trace of a run. Where there is no endpoint it costs nothing.
func (a *app) startTrace(ctx context.Context, command, runID string) context.Context {
	a.trace = tracing{tracer: noop.NewTracerProvider().Tracer("")}
	wanted, why := traceEndpoint(openTelemetry(a.environ))
	if why != "" {
		a.log.Warn("no traces are sent", "why", why)
	}
	if wanted {
		a.trace.start(ctx, a.log)
	}
	ctx, a.trace.run = a.trace.tracer.Start(ctx, command, trace.WithAttributes(
		attribute.String("spendsync.account", a.cfg.Account), attribute.String("spendsync.run_id", runID)))
	return ctx
}

// start makes the tracer that sends; the library reads where to, and all else, from
// the OTEL_ variables.
func (t *tracing) start(ctx context.Context, log *slog.Logger) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		log.Warn("no traces are sent", "why", phrase.OneLine(err.Error()))
		return
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "spendsync"), attribute.String("service.version", version())), resource.WithFromEnv())
	if err != nil {
		log.Warn("what OTEL_RESOURCE_ATTRIBUTES says is not all taken in", "why", phrase.OneLine(err.Error()))
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(&warningExporter{exporter, log}), sdktrace.WithResource(about))
	t.tracer, t.flush = provider.Tracer("spendsync"), provider.Shutdown
}

// warningExporter warns of spans that could not be sent: who watches a run does not
// decide how it ends.
type warningExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (e *warningExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.Warn("traces could not be sent", "spans", len(spans), "error", phrase.OneLine(err.Error()))
	}
	return nil
}

// endTrace ends the trace of a run and sends what is left of it. Only the first
// call counts.
func (a *app) endTrace(ctx context.Context, code int) {
	if a.trace.run == nil {
		return
	}
	a.trace.run.SetAttributes(attribute.Int("spendsync.exit_code", code))
	if code != exit.OK {
		a.trace.run.SetStatus(codes.Error, exit.About(code).Means)
	}
	a.trace.run.End()
	a.trace.run = nil
	if a.trace.flush != nil {
		ctx, cancel := a.lastCall(ctx)
		defer cancel()
		_ = a.trace.flush(ctx) // warned of where it happens
	}
}

// traced does one stage of a run as a span of its own.
func (a *app) traced(ctx context.Context, stage string, do func(context.Context) error) error {
	ctx, span := a.trace.tracer.Start(ctx, stage)
	defer span.End()
	err := do(ctx)
	endStage(span, err)
	return err
}

// endStage notes what went wrong. Errors show no secrets, here as in the log.
func endStage(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, phrase.OneLine(err.Error()))
	}
}

// copyDayTraced is copyDay as a span.
func (s *syncer) copyDayTraced(ctx context.Context, d plannedDay) error {
	ctx, span := s.app.trace.tracer.Start(ctx, "day", trace.WithAttributes(
		attribute.String("spendsync.day", d.Day.String()), attribute.String("spendsync.reason", d.Reason)))
	defer span.End()
	err := s.copyDay(ctx, d)
	endStage(span, err)
	if step := s.stepOf(d.Day); step != nil {
		span.SetAttributes(attribute.String("spendsync.outcome", step.Outcome), attribute.Int64("spendsync.rows", step.Rows),
			attribute.Int64("spendsync.pages", step.Pages), attribute.Int64("spendsync.attempts", step.Attempts))
	}
	return err
}

func (s *syncer) stepOf(day schema.Date) *schema.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.steps {
		if s.steps[i].Unit == day.String() {
			return &s.steps[i]
		}
	}
	return nil
}
