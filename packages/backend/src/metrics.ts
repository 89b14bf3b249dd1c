import { type Attributes, metrics } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

/** Of the tasks of a tenant, whose engine or instance puts this in front of their names. */
const TENANT_PREFIX = /^tenant:[^:]+:/;

/** Backstage counts the runs of each task by its name: tenants have one series together. */
const TASKS_OF_ALL_TENANTS = {
  instrumentName: 'backend_tasks.task.runs.*',
  attributesProcessors: [
    {
      process: ({ taskId, ...others }: Attributes): Attributes => ({
        ...others,
        taskId: String(taskId).replace(TENANT_PREFIX, 'tenant:'),
      }),
    },
  ],
};

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
  metrics.setGlobalMeterProvider(
    new MeterProvider({ readers: [exporter], views: [TASKS_OF_ALL_TENANTS] }),
  );
}
