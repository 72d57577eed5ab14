// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Pointer;
import io.thalamus.model.Shape;
import io.thalamus.vectors.DecodedExample;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A request for an example whose arguments are passed by pointer. All of them are in one block of
 * the arena that it was made with, each between guards that must not change. Used by one thread.
 *
 * <pre>
 * | guard | input 0 | guard | input 1 | guard | ... | output 0 | guard | ...
 * </pre>
 */
public final class PointerRequest {
  /** Also the alignment of every argument. */
  private static final int GUARD = 64;

  /** As float32 8.5e37, as float16 NaN: what was not written equals nothing that was. */
  private static final byte PATTERN = 0x7E;

  private static final byte SCRUBBED = 0x33;

  private final MemorySegment block;
  private final List<MemorySegment> inputs = new ArrayList<>();
  private final List<MemorySegment> outputs = new ArrayList<>();
  private final byte[] before;
  private final Request request;
  private long used = GUARD;

  private PointerRequest(DecodedExample example, Arena arena) {
    long bytes = GUARD;
    for (DecodedExample.Input input : example.inputs()) {
      bytes += padded(input.bytes().length);
    }
    for (DecodedExample.Expected output : example.outputs()) {
      bytes += padded(room(output));
    }
    block = arena.allocate(bytes, GUARD).fill(PATTERN);
    for (DecodedExample.Input input : example.inputs()) {
      inputs.add(next(input.bytes().length).copyFrom(MemorySegment.ofArray(input.bytes())));
    }
    for (DecodedExample.Expected output : example.outputs()) {
      outputs.add(next(room(output)));
    }
    before = block.toArray(ValueLayout.JAVA_BYTE);
    request = request(inputs, outputs);
  }

  /** Returns a request in memory of an arena. */
  public static PointerRequest of(DecodedExample example, Arena arena) {
    return new PointerRequest(example, arena);
  }

  private static long padded(long bytes) {
    return (bytes + GUARD - 1) / GUARD * GUARD + GUARD;
  }

  /** A result without elements still needs a byte of room. */
  private static long room(DecodedExample.Expected output) {
    return Math.max(1, output.byteSize());
  }

  private MemorySegment next(long bytes) {
    MemorySegment place = block.asSlice(used, bytes);
    used += padded(bytes);
    return place;
  }

  /** Returns the segments of the inputs; one that is left out is empty. */
  public List<MemorySegment> inputs() {
    return List.copyOf(inputs);
  }

  /** Returns the segments of the outputs. */
  public List<MemorySegment> outputs() {
    return List.copyOf(outputs);
  }

  /** Returns the request, each time the same object. */
  public Request request() {
    return request;
  }

  /** Returns the request with another segment as an input. */
  public Request withInput(int index, MemorySegment segment) {
    return request(replaced(inputs, index, segment), outputs);
  }

  /** Returns the request with another segment as an output. */
  public Request withOutput(int index, MemorySegment segment) {
    return request(inputs, replaced(outputs, index, segment));
  }

  private static List<MemorySegment> replaced(
      List<MemorySegment> segments, int index, MemorySegment segment) {
    List<MemorySegment> others = new ArrayList<>(segments);
    others.set(index, segment);
    return others;
  }

  private static Request request(List<MemorySegment> inputs, List<MemorySegment> outputs) {
    return new Request(
        inputs.stream()
            .map(
                input ->
                    input.byteSize() == 0
                        ? Argument.NO_VALUE
                        : new Pointer(input.asReadOnly(), Shape.NONE))
            .toList(),
        outputs.stream().<Argument>map(output -> new Pointer(output, Shape.NONE)).toList(),
        List.of());
  }

  /** Returns copies of what is in the outputs now. */
  public List<byte[]> results() {
    return outputs.stream().map(output -> output.toArray(ValueLayout.JAVA_BYTE)).toList();
  }

  /** Expects that nothing was written besides outputs. */
  public void expectUndamaged() {
    byte[] after = block.toArray(ValueLayout.JAVA_BYTE);
    for (MemorySegment output : outputs) {
      int start = (int) (output.address() - block.address());
      System.arraycopy(before, start, after, start, (int) output.byteSize());
    }
    int place = Arrays.mismatch(before, after);
    for (int i = 0; i < inputs.size(); i++) {
      long start = inputs.get(i).address() - block.address();
      Expect.that(
          place < start || place >= start + inputs.get(i).byteSize(), "it wrote to input " + i);
    }
    Expect.that(place < 0, "it wrote outside the outputs");
  }

  /** Sets the inputs to zeros, as a caller may between two executions. */
  public void zeroInputs() {
    inputs.forEach(input -> input.fill((byte) 0));
  }

  /** Sets everything to what it was before the first execution. */
  public void restore() {
    block.copyFrom(MemorySegment.ofArray(before));
  }

  /** Overwrites everything, as a caller may once the execution has returned. */
  public void scrub() {
    block.fill(SCRUBBED);
  }

  /** Returns whether nothing was written since {@link #scrub}. */
  public boolean isScrubbed() {
    for (byte value : block.toArray(ValueLayout.JAVA_BYTE)) {
      if (value != SCRUBBED) {
        return false;
      }
    }
    return true;
  }
}
