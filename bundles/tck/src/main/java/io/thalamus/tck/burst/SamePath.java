// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.tck.check.Expect;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * The synchronous result of a request, to which a burst is held bit for bit. Used by one thread;
 * borrows the memories of the request, which stand as they were before afterwards.
 */
final class SamePath {
  private final List<SharedMemory> memories;
  private final List<byte[]> before;
  private final List<byte[]> after;
  private final ExecutionResult result;

  private SamePath(
      List<SharedMemory> memories, PreparedModel model, Request request, ExecutionConfig config) {
    this.memories = memories;
    this.before = bytes(memories);
    this.result = model.execute(request, config);
    this.after = bytes(memories);
    restore();
  }

  /** Executes a request synchronously and takes back what it wrote. */
  static SamePath of(PreparedModel model, Request request, ExecutionConfig config) {
    List<SharedMemory> memories =
        request.pools().stream()
            .filter(MemoryPool.Shared.class::isInstance)
            .map(pool -> ((MemoryPool.Shared) pool).memory())
            .filter(memory -> !memory.isReadOnly())
            .distinct()
            .toList();
    return new SamePath(memories, model, request, config);
  }

  private static List<byte[]> bytes(List<SharedMemory> memories) {
    return memories.stream()
        .map(memory -> memory.segment().toArray(ValueLayout.JAVA_BYTE))
        .toList();
  }

  /** Returns how the synchronous execution ended. */
  ExecutionResult result() {
    return result;
  }

  /** Puts the memories back to what they were before any execution. */
  void restore() {
    for (int i = 0; i < memories.size(); i++) {
      memories.get(i).segment().copyFrom(MemorySegment.ofArray(before.get(i)));
    }
  }

  /** Expects the same end of a burst: status, shapes, whether it is timed. */
  void expectSame(ExecutionResult burst) {
    expectSame(burst, burst.status(), shapes(burst));
    if (burst instanceof ExecutionResult.Completed completed
        && result instanceof ExecutionResult.Completed synchronous) {
      Expect.that(
          completed.timing().inDriver().isPresent() == synchronous.timing().inDriver().isPresent()
              && completed.timing().onDevice().isPresent()
                  == synchronous.timing().onDevice().isPresent(),
          "by burst its timing is %s, synchronously %s"
              .formatted(completed.timing(), synchronous.timing()));
    }
  }

  /** Expects the same end of a packet. */
  void expectSame(ResultPacket burst) {
    expectSame(burst, burst.status(), burst.outputs());
  }

  private void expectSame(Object burst, ErrorStatus status, List<OutputShape> shapes) {
    Expect.that(
        status == result.status(),
        "by burst it ended with " + burst + ", synchronously with " + result);
    Expect.that(
        shapes.equals(shapes(result)),
        "by burst it has the shapes " + shapes + ", synchronously " + shapes(result));
    if (result instanceof ExecutionResult.Completed) {
      expectSameBytes();
    }
  }

  private static List<OutputShape> shapes(ExecutionResult result) {
    return switch (result) {
      case ExecutionResult.Completed completed -> completed.outputs();
      case ExecutionResult.OutputInsufficientSize insufficient -> insufficient.outputs();
      case ExecutionResult.Failed _ -> List.of();
    };
  }

  /** Whole memories are compared: a burst writes nowhere else either. */
  private void expectSameBytes() {
    for (int i = 0; i < memories.size(); i++) {
      long at = memories.get(i).segment().mismatch(MemorySegment.ofArray(after.get(i)));
      Expect.that(
          at < 0, "by burst byte " + at + " of memory " + i + " is not what it is synchronously");
    }
  }
}
