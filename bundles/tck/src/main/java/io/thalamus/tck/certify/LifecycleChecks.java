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
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.util.List;

/** The life of prepared models, from preparing to closing, and what is not claimed is refused. */
final class LifecycleChecks {
  private static final int PREPARED = 100;
  private static final int EXECUTIONS = 10;
  private static final String DIFFERENT = "the same request gave another result";

  private LifecycleChecks() {}

  static void run(Subject subject, Findings findings) throws InterruptedException {
    Device device = subject.device();
    DeviceInfo info = device.info();
    if (!subject.singles().isEmpty()) {
      Example example = subject.singles().getFirst();
      // The second time is the caller's.
      findings.prepared("closed twice", example, (prepared, _) -> prepared.close());
      findings.prepared("executed after its closing", example, LifecycleChecks::closed);
      findings.prepared(
          "one closed, its like not",
          example,
          (prepared, decoded) -> {
            byte[] expected = Probes.outputs(prepared, decoded);
            device.prepare(decoded.model(), PrepareConfig.DEFAULT).close();
            Expect.equal(expected, Probes.outputs(prepared, decoded), DIFFERENT);
          });
      findings.run("prepared many times", () -> many(device, example));
      findings.prepared(
          "the same again",
          example,
          (prepared, decoded) ->
              Expect.equal(
                  Probes.outputs(prepared, decoded), Probes.outputs(prepared, decoded), DIFFERENT));
      findings.prepared("bytes of its own", example, LifecycleChecks::ownBytes);
      findings.run("times of operations", () -> ProfileChecks.run(device, subject.some()));
    }
    LeakChecks.run(subject, findings);
    if (!info.memoryDomain()) {
      findings.run(
          "memory of its own is refused",
          () ->
              Expect.refused(
                  "it",
                  () -> device.allocate(new BufferDesc(Shape.NONE), List.of()).close(),
                  ErrorStatus.GENERAL_FAILURE,
                  ErrorStatus.INVALID_ARGUMENT));
    }
    if (!info.cacheNeeds().isCachingSupported()) {
      findings.run(
          "restoring from a cache is refused",
          () ->
              Expect.refused(
                  "it",
                  () -> device.prepareFromCache(PrepareConfig.DEFAULT).close(),
                  ErrorStatus.GENERAL_FAILURE));
    }
  }

  private static void closed(PreparedModel prepared, DecodedExample decoded) {
    prepared.close();
    try (TestRequest request = TestRequest.of(decoded)) {
      Expect.failed(
          prepared.execute(request.request(), ExecutionConfig.DEFAULT),
          ErrorStatus.GENERAL_FAILURE);
    }
  }

  /** The runtime asks once, before the first execution, whose bytes are part of the answer. */
  private static void ownBytes(PreparedModel prepared, DecodedExample decoded) {
    long reported = prepared.ownBytes();
    for (int i = 0; i < EXECUTIONS; i++) {
      long now = prepared.ownBytes();
      Expect.that(
          now <= Math.max(-1, reported),
          "it told of %d bytes before the first execution, and of %d after %d"
              .formatted(reported, now, i));
      Probes.outputs(prepared, decoded);
    }
  }

  private static void many(Device device, Example example) throws Exception {
    byte[] expected = Probes.outputs(device, example);
    for (int i = 0; i < PREPARED; i++) {
      Expect.equal(expected, Probes.outputs(device, example), DIFFERENT);
    }
  }
}
