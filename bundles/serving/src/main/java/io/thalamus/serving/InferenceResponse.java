// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.Durations;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The answer to a request. Immutable.
 *
 * @param version the version that computed it
 * @param id of the request
 * @param outputs in the order of the request, or of the model
 * @param report what ran where
 * @param attempts how often the execution was started
 */
public record InferenceResponse(
    String model,
    String version,
    String id,
    List<Output> outputs,
    ExecutionReport report,
    int attempts,
    RequestTimes times) {
  public InferenceResponse {
    Objects.requireNonNull(model, "model");
    Objects.requireNonNull(version, "version");
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(report, "report");
    Objects.requireNonNull(times, "times");
    outputs = List.copyOf(outputs);
  }

  /** Returns the devices whose work is in the answer, in the order of the steps, with commas. */
  public String ranOn() {
    return report.steps().stream()
        .filter(step -> step.code() == ResultCode.NO_ERROR)
        .map(StepReport::device)
        .distinct()
        .collect(Collectors.joining(","));
  }

  /**
   * Returns the time that the devices' hardware took, as they measured it themselves; empty where a
   * step was not measured.
   */
  public Optional<Duration> onHardware() {
    return measured(Durations::onHardware);
  }

  /** Returns the time of the drivers, hardware included; empty where a step was not measured. */
  public Optional<Duration> inDriver() {
    return measured(Durations::inDriver);
  }

  private Optional<Duration> measured(Function<Durations, Optional<Duration>> which) {
    Optional<Duration> sum = Optional.empty();
    for (StepReport step : report.steps()) {
      if (step.code() == ResultCode.NO_ERROR) {
        Optional<Duration> time = step.durations().flatMap(which);
        if (time.isEmpty()) {
          return time;
        }
        sum = Optional.of(sum.orElse(Duration.ZERO).plus(time.get()));
      }
    }
    return sum;
  }

  /**
   * The value of an output, little-endian and row-major.
   *
   * @param shape all dimensions
   * @param value the used part of what the request's allocator gave
   */
  public record Output(TensorMetadata metadata, List<Long> shape, MemorySegment value) {
    public Output {
      Objects.requireNonNull(metadata, "metadata");
      Objects.requireNonNull(value, "value");
      shape = List.copyOf(shape);
    }
  }
}
