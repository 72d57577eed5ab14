// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.FilledMemory;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.util.List;

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
      boolean claimed = subject.device().info().memoryKinds().contains(kind);
      findings.prepared(
          "arguments in " + kind.halName(),
          example,
          (prepared, decoded) -> arguments(prepared, decoded, kind, claimed));
    }
    ConstantChecks.run(subject, findings);
    findings.prepared(
        "inputs are not written",
        example,
        (prepared, decoded) -> {
          try (TestRequest request = TestRequest.of(decoded)) {
            byte[] before = request.allInputs();
            prepared.execute(request.request(), ExecutionConfig.DEFAULT);
            Expect.equal(before, request.allInputs(), "an execution changed its inputs");
          }
        });
  }

  private static void arguments(
      PreparedModel prepared, DecodedExample decoded, MemoryKind kind, boolean claimed)
      throws IOException {
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
                  new MemoryPool.Shared(inputs.memory()), new MemoryPool.Shared(outputs.memory())));
      ExecutionResult result = prepared.execute(request, ExecutionConfig.DEFAULT);
      if (!claimed) {
        Expect.failed(result, ErrorStatus.GENERAL_FAILURE);
        return;
      }
      Expect.completed("an execution with memory of a kind that the device claims", result);
      Expect.equal(
          expected,
          outputs.memory().segment().toArray(ValueLayout.JAVA_BYTE),
          "the results differ from those in ashmem");
    }
  }
}
