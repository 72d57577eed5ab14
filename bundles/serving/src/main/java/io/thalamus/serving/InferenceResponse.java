// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import io.thalamus.api.ExecutionReport;
import io.thalamus.api.ExecutionReport.StepReport;
import io.thalamus.api.ResultCode;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
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
