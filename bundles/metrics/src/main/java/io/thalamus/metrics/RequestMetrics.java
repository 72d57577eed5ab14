// SPDX-License-Identifier: Apache-2.0
package io.thalamus.metrics;

import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import io.thalamus.serving.Failure;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServingListener;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/**
 * The figures that are counted while requests run. Thread-safe. A request costs look-ups by names
 * that are there, and allocates nothing but the first of its model, version or outcome.
 */
@Component(service = {ServingListener.class, RequestMetrics.class})
public final class RequestMetrics implements ServingListener {
  private static final double NANOS = 1e9;

  /** Upper bounds in seconds: a request over loopback up to what nobody waits for. */
  private static final double[] BOUNDS = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10
  };

  private static final String[] VERSION = {"model", "version"};
  private static final String DEVICE = "device";

  /** The place of answered requests, behind those of failures. */
  private static final int SUCCESS = Failure.values().length;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Counter requests;
  private final Counter deadlines;
  private final Counter repetitions;
  private final Histogram total;
  private final Histogram queue;
  private final Histogram compute;
  private final Counter steps;
  private final Counter failedSteps;

  private final Map<String, Map<String, Series>> series = new ConcurrentHashMap<>();
  private final Map<String, Steps> devices = new ConcurrentHashMap<>();

  /** The requests that no version has taken; their names are whatever clients made up. */
  private final Outcomes unknown = new Outcomes("", "");

  /** Called by the component runtime. */
  @Activate
  public RequestMetrics() {
    requests =
        counter(
            "thalamus_requests",
            "Requests that have ended; of no model if none has taken them",
            "model",
            "version",
            "outcome");
    deadlines = counter("thalamus_deadlines_missed", "Requests that missed their limit", VERSION);
    repetitions =
        counter(
            "thalamus_executions_repeated",
            "Executions that were started again for the same request",
            VERSION);
    total = histogram("thalamus_request_duration", "From the arrival to the answer");
    queue = histogram("thalamus_request_queue_duration", "From the arrival to the execution");
    compute = histogram("thalamus_request_compute_duration", "The execution without its waits");
    steps = counter("thalamus_steps", "Parts of executions that a device was given", DEVICE);
    failedSteps =
        counter("thalamus_steps_failed", "Parts that a device gave up, and others got", DEVICE);
  }

  private Counter counter(String name, String help, String... labels) {
    return Counter.builder()
        .name(name)
        .help(help)
        .labelNames(labels)
        .withoutExemplars()
        .register(registry);
  }

  private Histogram histogram(String name, String help) {
    return Histogram.builder()
        .name(name + "_seconds")
        .help(help)
        .labelNames(VERSION)
        .classicOnly()
        .classicUpperBounds(BOUNDS)
        .withoutExemplars()
        .register(registry);
  }

  MetricSnapshots scrape() {
    return registry.scrape();
  }

  /** The ends of requests, by kind. */
  private final class Outcomes {
    private final String model;
    private final String version;
    private final AtomicReferenceArray<CounterDataPoint> counters =
        new AtomicReferenceArray<>(SUCCESS + 1);

    Outcomes(String model, String version) {
      this.model = model;
      this.version = version;
    }

    /** Counts one; a failure is null after an answer. */
    void count(Failure failure) {
      int place = failure == null ? SUCCESS : failure.ordinal();
      CounterDataPoint counter = counters.get(place);
      if (counter == null) {
        String name = failure == null ? "success" : failure.name().toLowerCase(Locale.ROOT);
        counter = requests.labelValues(model, version, name);
        counters.set(place, counter);
      }
      counter.inc();
    }
  }

  /** The figures of a version. */
  private final class Series {
    private final Outcomes outcomes;
    private final CounterDataPoint missed;
    private final CounterDataPoint repeated;
    private final DistributionDataPoint whole;
    private final DistributionDataPoint waited;
    private final DistributionDataPoint computed;

    Series(String model, String version) {
      outcomes = new Outcomes(model, version);
      missed = deadlines.labelValues(model, version);
      repeated = repetitions.labelValues(model, version);
      whole = total.labelValues(model, version);
      waited = queue.labelValues(model, version);
      computed = compute.labelValues(model, version);
    }

    void count(EndedRequest request) {
      Failure failure = request.failure().orElse(null);
      outcomes.count(failure);
      if (failure == Failure.DEADLINE_EXCEEDED) {
        missed.inc();
      }
      if (request.attempts() > 1) {
        repeated.inc(request.attempts() - 1L);
      }
      if (failure == null) {
        RequestTimes times = request.times();
        whole.observe(times.total() / NANOS);
        waited.observe(times.queue() / NANOS);
        computed.observe(times.computeInfer() / NANOS);
      }
    }
  }

  /** The figures of a device. */
  private record Steps(CounterDataPoint all, CounterDataPoint failed) {}

  private Series series(String model, String version) {
    Map<String, Series> versions = series.get(model);
    Series known = versions == null ? null : versions.get(version);
    return known != null
        ? known
        : series
            .computeIfAbsent(model, key -> new ConcurrentHashMap<>())
            .computeIfAbsent(version, key -> new Series(model, key));
  }

  @Override
  public void ended(EndedRequest request) {
    if (request.version().isEmpty()) {
      unknown.count(request.failure().orElse(null));
      return;
    }
    series(request.request().model(), request.version()).count(request);
    if (request.report().isPresent()) {
      count(request.report().get().steps());
    }
  }

  private void count(List<StepReport> reports) {
    for (int i = 0; i < reports.size(); i++) {
      StepReport step = reports.get(i);
      Steps device = devices.get(step.device());
      if (device == null) {
        device =
            devices.computeIfAbsent(
                step.device(), id -> new Steps(steps.labelValues(id), failedSteps.labelValues(id)));
      }
      device.all().inc();
      if (step.code() != ResultCode.NO_ERROR) {
        device.failed().inc();
      }
    }
  }
}
