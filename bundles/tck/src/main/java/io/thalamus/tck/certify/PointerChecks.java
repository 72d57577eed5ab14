// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.PointerRequest;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Arguments by pointer, on a device that takes them: used within their bounds until the call
 * returns, in the calling thread where they are confined to it; what cannot be used so is refused.
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
    Device device = subject.device();
    for (Example example : subject.singles()) {
      findings.prepared(example.name(), example, PointerChecks::inPlace);
    }
    for (Example example : subject.some()) {
      String name = example.name() + " ";
      findings.prepared(name + "after the return", example, PointerChecks::kept);
      findings.prepared(name + "the same request again", example, PointerChecks::again);
      findings.prepared(name + "by several threads", example, PointerChecks::together);
    }
    Example example = subject.singles().getFirst();
    findings.prepared("beside pools", example, PointerChecks::mixed);
    findings.prepared("not fenced", example, PointerChecks::fenced);
    for (Flaw flaw : Flaw.values()) {
      findings.prepared(flaw.text, example, (model, one) -> flawed(model, one, flaw));
    }
  }

  private static ExecutionResult execute(PreparedModel prepared, Request request) {
    return prepared.execute(request, ExecutionConfig.DEFAULT);
  }

  /** The results of the same example with its arguments in pools. */
  private static List<byte[]> expected(PreparedModel prepared, DecodedExample decoded) {
    try (TestRequest request = TestRequest.of(decoded)) {
      Expect.completed("with arguments in pools it", execute(prepared, request.request()));
      List<byte[]> outputs = new ArrayList<>();
      for (int i = 0; i < decoded.outputs().size(); i++) {
        outputs.add(request.output(i));
      }
      return outputs;
    }
  }

  /** Executes in the calling thread, whose arena is confined to it. */
  private static void run(PreparedModel prepared, PointerRequest request, List<byte[]> expected) {
    ExecutionResult result = execute(prepared, request.request());
    request.expectUndamaged();
    Expect.completed("it", result);
    for (int i = 0; i < expected.size(); i++) {
      Expect.equal(
          expected.get(i),
          request.results().get(i),
          "output " + i + " differs from that in a pool");
    }
  }

  private static void inPlace(PreparedModel prepared, DecodedExample decoded) {
    inPlace(prepared, decoded, expected(prepared, decoded));
  }

  /** Some devices use in place only what nobody can close. */
  private static void inPlace(
      PreparedModel prepared, DecodedExample decoded, List<byte[]> expected) {
    try (Arena arena = Arena.ofConfined()) {
      run(prepared, PointerRequest.of(decoded, arena), expected);
    }
    run(prepared, PointerRequest.of(decoded, Arena.ofAuto()), expected);
  }

  /** Nothing of a request is read or written once its execution has returned. */
  private static void kept(PreparedModel prepared, DecodedExample decoded)
      throws InterruptedException {
    List<byte[]> expected = expected(prepared, decoded);
    kept(prepared, decoded, expected, Arena.ofAuto());
    try (Arena shared = Arena.ofShared()) {
      kept(prepared, decoded, expected, shared);
    }
    // The memory of all these executions is gone.
    inPlace(prepared, decoded, expected);
  }

  private static void kept(
      PreparedModel prepared, DecodedExample decoded, List<byte[]> expected, Arena arena)
      throws InterruptedException {
    PointerRequest first = PointerRequest.of(decoded, arena);
    run(prepared, first, expected);
    first.scrub();
    for (int i = 0; i < ROUNDS; i++) {
      run(prepared, PointerRequest.of(decoded, arena), expected);
      Thread.sleep(PAUSE_MILLIS);
    }
    Expect.that(first.isScrubbed(), "it wrote to an argument after the execution had returned");
  }

  /** The same request is read anew each time, and refused once its memory is closed. */
  private static void again(PreparedModel prepared, DecodedExample decoded) {
    List<byte[]> expected = expected(prepared, decoded);
    repeat(prepared, PointerRequest.of(decoded, Arena.ofAuto()), expected);
    PointerRequest request;
    try (Arena shared = Arena.ofShared()) {
      request = PointerRequest.of(decoded, shared);
      repeat(prepared, request, expected);
    }
    Expect.failed(execute(prepared, request.request()), ErrorStatus.INVALID_ARGUMENT);
  }

  private static void repeat(
      PreparedModel prepared, PointerRequest request, List<byte[]> expected) {
    request.zeroInputs();
    execute(prepared, request.request());
    request.restore();
    run(prepared, request, expected);
    request.restore();
    run(prepared, request, expected);
  }

  private static void together(PreparedModel prepared, DecodedExample decoded) throws Exception {
    List<byte[]> expected = expected(prepared, decoded);
    ConcurrencyChecks.together(() -> inPlace(prepared, decoded, expected));
  }

  private static void mixed(PreparedModel prepared, DecodedExample decoded) {
    byte[] expected = expected(prepared, decoded).getFirst();
    try (Arena arena = Arena.ofConfined();
        TestRequest pools = TestRequest.of(decoded)) {
      PointerRequest pointers = PointerRequest.of(decoded, arena);
      List<MemoryPool> both = pools.request().pools();
      Request in = new Request(pointers.request().inputs(), pools.request().outputs(), both);
      Expect.that(
          execute(prepared, in) instanceof ExecutionResult.Completed
              && Arrays.equals(expected, pools.output(0)),
          "inputs by pointer and outputs in a pool give another result");
      Request out = new Request(pools.request().inputs(), pointers.request().outputs(), both);
      Expect.that(
          execute(prepared, out) instanceof ExecutionResult.Completed
              && Arrays.equals(expected, pointers.results().getFirst()),
          "inputs in a pool and outputs by pointer give another result");
      pointers.expectUndamaged();
    }
  }

  /** The caller of a fenced execution does not wait for it. */
  private static void fenced(PreparedModel prepared, DecodedExample decoded) throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      Request request = PointerRequest.of(decoded, arena).request();
      Expect.refused(
          "it",
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

  private static void flawed(PreparedModel prepared, DecodedExample decoded, Flaw flaw)
      throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      PointerRequest request = PointerRequest.of(decoded, arena);
      for (int i = 0; i < decoded.inputs().size() && flaw != Flaw.READ_ONLY; i++) {
        DecodedExample.Input input = decoded.inputs().get(i);
        if (!input.isOmitted()) {
          Optional<MemorySegment> bad = flaw.of(request.inputs().get(i), input.operand(), arena);
          if (bad.isPresent()) {
            ExecutionResult result = execute(prepared, request.withInput(i, bad.get()));
            Expect.at("input " + i, () -> Expect.failed(result, ErrorStatus.INVALID_ARGUMENT));
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
            Expect.at("output " + i, () -> Expect.failed(result, ErrorStatus.INVALID_ARGUMENT));
          }
        }
      }
      request.expectUndamaged();
    }
  }
}
