// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.request.LentRequest;
import io.thalamus.vectors.Example;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Arguments in every kind of shared memory: those that are claimed work, others are refused. */
final class Memories {
  private Memories() {}

  static void run(Subject subject, Findings findings) throws InterruptedException {
    if (subject.singles().isEmpty()) {
      findings.skip("arguments", "the device takes none of the kit's operations");
      return;
    }
    Example example = subject.singles().getFirst();
    for (MemoryKind kind : MemoryKind.values()) {
      findings.attempt("arguments in " + kind.halName(), () -> arguments(subject, example, kind));
    }
    findings.attempt(
        "inputs are not written",
        () ->
            Runs.with(
                subject.device(),
                example,
                (prepared, decoded) -> {
                  try (LentRequest request = LentRequest.of(decoded)) {
                    byte[] before = bytes(request.inputs());
                    prepared.execute(request.request(), ExecutionConfig.DEFAULT);
                    return Arrays.equals(before, bytes(request.inputs()))
                        ? Optional.empty()
                        : Optional.of("an execution changed its inputs");
                  }
                }));
  }

  private static byte[] bytes(SharedMemory memory) {
    return memory.segment().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
  }

  private static Optional<String> arguments(Subject subject, Example example, MemoryKind kind)
      throws Exception {
    boolean claimed = subject.device().info().memoryKinds().contains(kind);
    return Runs.with(
        subject.device(),
        example,
        (prepared, decoded) -> {
          byte[] expected = Runs.outputs(prepared, decoded);
          try (LentRequest plain = LentRequest.of(decoded);
              Replaced replaced = Replaced.of(plain, kind)) {
            ExecutionResult result = prepared.execute(replaced.request(), ExecutionConfig.DEFAULT);
            if (!claimed) {
              return Runs.failed(result, ErrorStatus.GENERAL_FAILURE);
            }
            if (!(result instanceof ExecutionResult.Completed)) {
              return Optional.of("it claims the kind, but ended with " + result);
            }
            return Arrays.equals(expected, bytes(replaced.outputs()))
                ? Optional.empty()
                : Optional.of("the results differ from those in ashmem");
          }
        });
  }

  /**
   * A request with its inputs in memory of another kind, and, where that can be written, outputs.
   */
  private record Replaced(
      Request request, SharedMemory inputs, SharedMemory outputs, Optional<Path> file)
      implements AutoCloseable {
    static Replaced of(LentRequest plain, MemoryKind kind) throws java.io.IOException {
      if (kind != MemoryKind.MMAP_FD) {
        SharedMemory inputs = SharedMemory.allocate(kind, plain.inputs().size());
        inputs.segment().copyFrom(plain.inputs().segment());
        SharedMemory outputs = SharedMemory.allocate(kind, plain.outputs().size());
        outputs.segment().copyFrom(plain.outputs().segment());
        return new Replaced(with(plain, inputs, outputs), inputs, outputs, Optional.empty());
      }
      // A file is mapped for reading.
      Path file = Files.createTempFile("thalamus-certify", ".bin");
      Files.write(file, bytes(plain.inputs()));
      SharedMemory inputs = SharedMemory.map(file);
      return new Replaced(
          with(plain, inputs, plain.outputs()), inputs, plain.outputs(), Optional.of(file));
    }

    private static Request with(LentRequest plain, SharedMemory inputs, SharedMemory outputs) {
      return new Request(
          plain.request().inputs(),
          plain.request().outputs(),
          List.of(new MemoryPool.Shared(inputs), new MemoryPool.Shared(outputs)));
    }

    @Override
    public void close() throws java.io.IOException {
      inputs.close();
      if (file.isPresent()) {
        Files.delete(file.get());
      } else {
        outputs.close();
      }
    }
  }
}
