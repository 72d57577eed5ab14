// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.thalamus.model.Priority;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.InferenceRequest.Sequence;
import io.thalamus.serving.protocol.RegionPart;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A message {@code ModelInferRequest}. Immutable.
 *
 * @param outputs empty for all
 * @param regions the shared memory of outputs that are to be there
 * @param classes how many classes outputs are to have in place of their values
 */
record ReadInfer(
    String model,
    Optional<String> version,
    String id,
    List<Input> inputs,
    List<String> outputs,
    Map<String, RegionPart> regions,
    Map<String, Long> classes,
    Priority priority,
    Optional<Duration> timeout,
    Optional<Sequence> sequence,
    boolean report) {
  ReadInfer {
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    regions = Map.copyOf(regions);
    classes = Map.copyOf(classes);
  }
}
