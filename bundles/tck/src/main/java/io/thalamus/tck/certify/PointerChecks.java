// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.tck.request.PointerRequest;
import io.thalamus.tck.request.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Arguments by pointer, on a device that takes them: used in the calling thread, within their
 * bounds, until the call returns; what cannot be used so is refused.
 */
final class PointerChecks {
  /** Long enough for a thread that the device left behind to do its harm. */
  private static final long PAUSE_MILLIS = 50;

  private static final int ROUNDS = 3;

  private PointerChecks() {}

  static void run(Subject subject, Findings findings) throws InterruptedException {
    if (!subject.device().info().pointerArguments()) {
      findings.skip("arguments", "the device takes no arguments by pointer");
      return;
    }
    if (subject.singles().isEmpty()) {
      findings.skip("arguments", "the device takes none of the kit's operations");
      return;
    }
    for (Example example : subject.singles()) {
      findings.attempt(
          example.name(), () -> Probes.with(subject.device(), example, PointerChecks::inPlace));
    }
    for (Example example : ConcurrencyChecks.some(subject)) {
      String name = example.name() + " ";
      findings.attempt(
          name + "after the return",
          () -> Probes.with(subject.device(), example, PointerChecks::kept));
      findings.attempt(
          name + "by several threads",
          () -> Probes.with(subject.device(), example, PointerChecks::together));
    }
    Example example = subject.singles().getFirst();
    findings.attempt(
        "beside pools", () -> Probes.with(subject.device(), example, PointerChecks::mixed));
    findings.attempt(
        "not fenced", () -> Probes.with(subject.device(), example, PointerChecks::fenced));
    for (Flaw flaw : Flaw.values()) {
      findings.attempt(
          flaw.text, () -> Probes.with(subject.device(), example, (a, b) -> flawed(a, b, flaw)));
    }
  }

  private static ExecutionResult execute(PreparedModel prepared, Request request) {
    return prepared.execute(request, ExecutionConfig.DEFAULT);
  }

  /** The results of the same example with its arguments in pools. */
  private static List<byte[]> expected(PreparedModel prepared, DecodedExample decoded) {
    try (TestRequest request = TestRequest.of(decoded)) {
      ExecutionResult result = execute(prepared, request.request());
      if (!(result instanceof ExecutionResult.Completed)) {
        throw new IllegalStateException("with arguments in pools it ended with " + result);
      }
      List<byte[]> outputs = new ArrayList<>();
      for (int i = 0; i < decoded.outputs().size(); i++) {
        outputs.add(request.output(i));
      }
      return outputs;
    }
  }

  /** Executes in the calling thread, whose arena is confined to it; a fault where it is wrong. */
  private static Optional<String> run(
      PreparedModel prepared, PointerRequest request, List<byte[]> expected) {
    ExecutionResult result = execute(prepared, request.request());
    Optional<String> damage = request.damage();
    if (damage.isPresent()) {
      return damage;
    }
    if (!(result instanceof ExecutionResult.Completed)) {
      return Optional.of("it ended with " + result);
    }
    for (int i = 0; i < expected.size(); i++) {
      if (!Arrays.equals(expected.get(i), request.results().get(i))) {
        return Optional.of("output " + i + " differs from that in a pool");
      }
    }
    return Optional.empty();
  }

  private static Optional<String> inPlace(PreparedModel prepared, DecodedExample decoded) {
    try (Arena arena = Arena.ofConfined()) {
      return run(prepared, PointerRequest.of(decoded, arena), expected(prepared, decoded));
    }
  }

  /** Nothing of a request is read or written once its execution has returned. */
  private static Optional<String> kept(PreparedModel prepared, DecodedExample decoded)
      throws InterruptedException {
    List<byte[]> expected = expected(prepared, decoded);
    try (Arena shared = Arena.ofShared()) {
      PointerRequest first = PointerRequest.of(decoded, shared);
      Optional<String> fault = run(prepared, first, expected);
      first.scrub();
      for (int i = 0; i < ROUNDS && fault.isEmpty(); i++) {
        fault = run(prepared, PointerRequest.of(decoded, shared), expected);
        Thread.sleep(PAUSE_MILLIS);
      }
      if (fault.isPresent()) {
        return fault;
      }
      if (!first.isScrubbed()) {
        return Optional.of("it wrote to an argument after the execution had returned");
      }
    }
    // The memory of all these executions is gone.
    return inPlace(prepared, decoded);
  }

  private static Optional<String> together(PreparedModel prepared, DecodedExample decoded)
      throws Exception {
    List<byte[]> expected = expected(prepared, decoded);
    return ConcurrencyChecks.together(
        new byte[0],
        () -> {
          try (Arena arena = Arena.ofConfined()) {
            Optional<String> fault = run(prepared, PointerRequest.of(decoded, arena), expected);
            return fault.isEmpty() ? new byte[0] : new byte[1];
          }
        });
  }

  private static Optional<String> mixed(PreparedModel prepared, DecodedExample decoded) {
    List<byte[]> expected = expected(prepared, decoded);
    try (Arena arena = Arena.ofConfined();
        TestRequest pools = TestRequest.of(decoded)) {
      PointerRequest pointers = PointerRequest.of(decoded, arena);
      List<MemoryPool> both = pools.request().pools();
      Request in = new Request(pointers.request().inputs(), pools.request().outputs(), both);
      if (!(execute(prepared, in) instanceof ExecutionResult.Completed)
          || !Arrays.equals(expected.getFirst(), pools.output(0))) {
        return Optional.of("inputs by pointer and outputs in a pool give another result");
      }
      Request out = new Request(pools.request().inputs(), pointers.request().outputs(), both);
      if (!(execute(prepared, out) instanceof ExecutionResult.Completed)
          || !Arrays.equals(expected.getFirst(), pointers.results().getFirst())) {
        return Optional.of("inputs in a pool and outputs by pointer give another result");
      }
      return pointers.damage();
    }
  }

  /** The caller of a fenced execution does not wait for it. */
  private static Optional<String> fenced(PreparedModel prepared, DecodedExample decoded)
      throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      Request request = PointerRequest.of(decoded, arena).request();
      return Probes.refused(
          () -> prepared.executeFenced(request, List.of(), ExecutionConfig.DEFAULT),
          ErrorStatus.INVALID_ARGUMENT,
          ErrorStatus.GENERAL_FAILURE);
    }
  }

  /** A flaw of the segment of an argument. */
  private enum Flaw {
    HEAP("on the heap"),
    CLOSED("in closed memory"),
    FOREIGN("in memory of another thread"),
    UNALIGNED("without alignment"),
    SHORT("too short"),
    READ_ONLY("outputs in read-only memory");

    private final String text;

    Flaw(String text) {
      this.text = text;
    }

    /** Returns a segment with the flaw; empty where an argument of this type cannot have it. */
    Optional<MemorySegment> of(MemorySegment good, Operand operand, Arena arena) throws Exception {
      long bytes = good.byteSize();
      return Optional.ofNullable(
          switch (this) {
            case HEAP -> MemorySegment.ofArray(new long[(int) (bytes / 8 + 1)]).asSlice(0, bytes);
            case CLOSED -> {
              try (Arena brief = Arena.ofShared()) {
                yield brief.allocate(bytes, 64);
              }
            }
            case FOREIGN -> foreign(bytes);
            case UNALIGNED ->
                operand.type().elementSize() % 2 == 0
                    ? arena.allocate(bytes + 1, 64).asSlice(1)
                    : null;
            case SHORT ->
                bytes > operand.type().elementSize()
                    ? good.asSlice(0, bytes - operand.type().elementSize())
                    : null;
            case READ_ONLY -> good.asReadOnly();
          });
    }

    private static MemorySegment foreign(long bytes) throws InterruptedException {
      MemorySegment[] segment = new MemorySegment[1];
      Thread other =
          Thread.ofPlatform()
              .name("certify-foreign")
              .start(() -> segment[0] = Arena.ofConfined().allocate(bytes, 64));
      other.join();
      return segment[0];
    }
  }

  private static Optional<String> flawed(PreparedModel prepared, DecodedExample decoded, Flaw flaw)
      throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      PointerRequest request = PointerRequest.of(decoded, arena);
      for (int i = 0; i < decoded.inputs().size() && flaw != Flaw.READ_ONLY; i++) {
        DecodedExample.Input input = decoded.inputs().get(i);
        if (!input.isOmitted()) {
          Optional<MemorySegment> bad = flaw.of(request.inputs().get(i), input.operand(), arena);
          if (bad.isPresent()) {
            ExecutionResult result = execute(prepared, request.withInput(i, bad.get()));
            Optional<String> fault = Probes.failed(result, ErrorStatus.INVALID_ARGUMENT);
            if (fault.isPresent()) {
              return Optional.of("input " + i + ": " + fault.get());
            }
          }
        }
      }
      for (int i = 0; i < decoded.outputs().size(); i++) {
        Operand operand = decoded.outputs().get(i).operand();
        Optional<MemorySegment> bad = flaw.of(request.outputs().get(i), operand, arena);
        if (bad.isPresent()) {
          ExecutionResult result = execute(prepared, request.withOutput(i, bad.get()));
          boolean isSmall = result instanceof ExecutionResult.OutputInsufficientSize;
          if (!(isSmall && flaw == Flaw.SHORT)) {
            Optional<String> fault = Probes.failed(result, ErrorStatus.INVALID_ARGUMENT);
            if (fault.isPresent()) {
              return Optional.of("output " + i + ": " + fault.get());
            }
          }
        }
      }
      return request.damage();
    }
  }
}
