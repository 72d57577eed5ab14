// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Shape;
import io.thalamus.tck.request.TestRequest;
import io.thalamus.vectors.Example;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The life of prepared models, from preparing to closing, and what is not claimed is refused. */
final class LifecycleChecks {
  private static final int PREPARED = 100;

  private LifecycleChecks() {}

  /** From preparing to closing, and what is not claimed is refused. */
  static void run(Subject subject, Findings findings) throws InterruptedException {
    Device device = subject.device();
    DeviceInfo info = device.info();
    if (!subject.singles().isEmpty()) {
      Example example = subject.singles().getFirst();
      findings.attempt("closed twice", () -> closedTwice(device, example));
      findings.attempt("executed after its closing", () -> closed(device, example));
      findings.attempt("one closed, its like not", () -> twins(device, example));
      findings.attempt("prepared many times", () -> many(device, example));
      findings.attempt("the same again", () -> again(device, example));
    }
    LeakChecks.run(subject, findings);
    if (!info.memoryDomain()) {
      findings.attempt(
          "memory of its own is refused",
          () ->
              Probes.refused(
                  () -> device.allocate(new BufferDesc(Shape.NONE), List.of()).close(),
                  ErrorStatus.GENERAL_FAILURE,
                  ErrorStatus.INVALID_ARGUMENT));
    }
    if (!info.cacheNeeds().isCachingSupported()) {
      findings.attempt(
          "restoring from a cache is refused",
          () ->
              Probes.refused(
                  () -> device.prepareFromCache(PrepareConfig.DEFAULT).close(),
                  ErrorStatus.GENERAL_FAILURE));
    }
  }

  private static Optional<String> closedTwice(Device device, Example example) throws Exception {
    return Probes.with(
        device,
        example,
        (prepared, decoded) -> {
          prepared.close(); // the second time is the caller's
          return Optional.empty();
        });
  }

  private static Optional<String> closed(Device device, Example example) throws Exception {
    return Probes.with(
        device,
        example,
        (prepared, decoded) -> {
          prepared.close();
          try (TestRequest request = TestRequest.of(decoded)) {
            return Probes.failed(
                prepared.execute(request.request(), ExecutionConfig.DEFAULT),
                ErrorStatus.GENERAL_FAILURE);
          }
        });
  }

  private static Optional<String> twins(Device device, Example example) throws Exception {
    return Probes.with(
        device,
        example,
        (prepared, decoded) -> {
          byte[] expected = Probes.outputs(prepared, decoded);
          PreparedModel other = device.prepare(decoded.model(), PrepareConfig.DEFAULT);
          other.close();
          return same(expected, Probes.outputs(prepared, decoded));
        });
  }

  private static Optional<String> many(Device device, Example example) throws Exception {
    byte[] expected = Probes.outputs(device, example);
    for (int i = 0; i < PREPARED; i++) {
      Optional<String> fault = same(expected, Probes.outputs(device, example));
      if (fault.isPresent()) {
        return fault;
      }
    }
    return Optional.empty();
  }

  private static Optional<String> again(Device device, Example example) throws Exception {
    return Probes.with(
        device,
        example,
        (prepared, decoded) ->
            same(Probes.outputs(prepared, decoded), Probes.outputs(prepared, decoded)));
  }

  private static Optional<String> same(byte[] expected, byte[] actual) {
    return Arrays.equals(expected, actual)
        ? Optional.empty()
        : Optional.of("the same request gave another result");
  }
}
