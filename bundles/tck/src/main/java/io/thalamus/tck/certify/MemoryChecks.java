// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.request.FilledMemory;
import io.thalamus.tck.request.TestRequest;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFormatException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Arguments in every kind of shared memory: those that are claimed work, others are refused. */
final class MemoryChecks {
  private MemoryChecks() {}

  static void run(Subject subject, Findings findings)
      throws InterruptedException, VectorFormatException {
    if (subject.singles().isEmpty()) {
      findings.skip("arguments", "the device takes none of the kit's operations");
      return;
    }
    Example example = subject.singles().getFirst();
    for (MemoryKind kind : MemoryKind.values()) {
      findings.attempt("arguments in " + kind.halName(), () -> arguments(subject, example, kind));
    }
    ConstantChecks.run(subject, findings);
    findings.attempt(
        "inputs are not written",
        () ->
            Probes.with(
                subject.device(),
                example,
                (prepared, decoded) -> {
                  try (TestRequest request = TestRequest.of(decoded)) {
                    byte[] before = Probes.bytes(request.inputs());
                    prepared.execute(request.request(), ExecutionConfig.DEFAULT);
                    return Arrays.equals(before, Probes.bytes(request.inputs()))
                        ? Optional.empty()
                        : Optional.of("an execution changed its inputs");
                  }
                }));
  }

  private static Optional<String> arguments(Subject subject, Example example, MemoryKind kind)
      throws Exception {
    boolean claimed = subject.device().info().memoryKinds().contains(kind);
    return Probes.with(
        subject.device(),
        example,
        (prepared, decoded) -> {
          byte[] expected = Probes.outputs(prepared, decoded);
          // A file is mapped for reading: it holds inputs only.
          MemoryKind outputKind = kind == MemoryKind.MMAP_FD ? MemoryKind.ASHMEM : kind;
          try (TestRequest plain = TestRequest.of(decoded);
              FilledMemory inputs = FilledMemory.of(kind, plain.inputs().segment());
              FilledMemory outputs = FilledMemory.of(outputKind, plain.outputs().segment())) {
            Request request =
                new Request(
                    plain.request().inputs(),
                    plain.request().outputs(),
                    List.of(
                        new MemoryPool.Shared(inputs.memory()),
                        new MemoryPool.Shared(outputs.memory())));
            ExecutionResult result = prepared.execute(request, ExecutionConfig.DEFAULT);
            if (!claimed) {
              return Probes.failed(result, ErrorStatus.GENERAL_FAILURE);
            }
            if (!(result instanceof ExecutionResult.Completed)) {
              return Optional.of("it claims the kind, but ended with " + result);
            }
            return Arrays.equals(expected, Probes.bytes(outputs.memory()))
                ? Optional.empty()
                : Optional.of("the results differ from those in ashmem");
          }
        });
  }
}
