// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import io.thalamus.model.Priority;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceRequest.Sequence;
import io.thalamus.serving.protocol.RegionPart;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The body of a request for an inference. Immutable.
 *
 * @param outputs empty for all
 * @param isBinary whether outputs that do not say it are to come as bytes
 */
record ReadRequest(
    String id,
    List<Input> inputs,
    List<WantedOutput> outputs,
    boolean isBinary,
    Priority priority,
    Optional<Duration> timeout,
    Optional<Sequence> sequence,
    boolean report) {
  ReadRequest {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
  }

  /** A request that is nothing but the value of one input. */
  static ReadRequest of(Input input) {
    return new ReadRequest(
        "",
        List.of(input),
        List.of(),
        true,
        Priority.MEDIUM,
        Optional.empty(),
        Optional.empty(),
        false);
  }

  /** Returns whether the value of an output is to come as bytes. */
  boolean isBinary(String output) {
    return wanted(output).flatMap(WantedOutput::isBinary).orElse(isBinary);
  }

  /** Returns the shared memory that the value of an output is to be written to. */
  Optional<RegionPart> region(String output) {
    return wanted(output).flatMap(WantedOutput::region);
  }

  /** Returns how many classes outputs are to have in place of their values. */
  Map<String, Long> classes() {
    Map<String, Long> classes = new HashMap<>();
    for (WantedOutput each : outputs) {
      if (each.classes() > 0) {
        classes.merge(each.name(), each.classes(), Math::max);
      }
    }
    return classes;
  }

  private Optional<WantedOutput> wanted(String output) {
    for (WantedOutput each : outputs) {
      if (each.name().equals(output)) {
        return Optional.of(each);
      }
    }
    return Optional.empty();
  }
}
