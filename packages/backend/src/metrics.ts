import { metrics } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

/**
 * Serves the metrics of this process to Prometheus, where OpenTelemetry's own variable
 * `OTEL_METRICS_EXPORTER` says `prometheus`: at `/metrics` of a port of their own, which
 * `OTEL_EXPORTER_PROMETHEUS_HOST` and `OTEL_EXPORTER_PROMETHEUS_PORT` name (9464).
 *
 * Call it before the backend is created: a meter that is older than the provider stays silent.
 */
export function startMetrics(environment: NodeJS.ProcessEnv = process.env) {
  if (environment.OTEL_METRICS_EXPORTER !== 'prometheus') {
    return;
  }
  const exporter = new PrometheusExporter({}, error => {
    if (error) {
      process.stderr.write(
        `Prometheus can't read the metrics: ${error.message}. Set OTEL_EXPORTER_PROMETHEUS_PORT to a free port.\n`,
      );
    }
  });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
}
