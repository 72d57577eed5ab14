// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import static io.thalamus.model.LittleEndian.INT;
import static io.thalamus.model.LittleEndian.SHORT;

import io.thalamus.driver.Kernel;
import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Elements;
import io.thalamus.model.OperandType;
import io.thalamus.operations.LookupTable;
import io.thalamus.operations.Moves;
import io.thalamus.operations.Moves.Part;
import io.thalamus.operations.ResolvedOperation;
import io.thalamus.operations.StridedCopy;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.OptionalInt;

/**
 * Moves elements from one place to another. All that matters of an element's type is its size, so
 * that one kernel serves all types.
 */
public final class DataMovement {
  private static final DataMovement BYTES = new DataMovement(1);

  /** Elements that are copied between two looks at the work done. */
  private static final long MOST_AT_ONCE = 1 << 20;

  /** Elements of a dense copy that take the time of one in a loop. */
  private static final long COPIED_LIKE_ONE = 8;

  private final int size;

  private DataMovement(int size) {
    this.size = size;
  }

  /** For elements of this type. */
  public static DataMovement of(OperandType type) {
    return new DataMovement(type.elementSize());
  }

  /** Copies {@code count} elements from one index to another. */
  public void copy(
      WorkMeter work,
      MemorySegment from,
      long fromIndex,
      MemorySegment to,
      long toIndex,
      long count) {
    // Parts of a copy within one operand may overlap, and then must not be moved one by one.
    long most = from == to ? count : MOST_AT_ONCE;
    for (long i = 0; i < count; i += most) {
      long part = Math.min(most, count - i);
      work.done(1 + part / COPIED_LIKE_ONE);
      MemorySegment.copy(from, (fromIndex + i) * size, to, (toIndex + i) * size, part * size);
    }
  }

  /** Writes an element, given by its bits, {@code count} times. */
  public void fill(WorkMeter work, MemorySegment to, long count, int bits) {
    for (long i = 0; i < count; i++) {
      work.done(1);
      switch (size) {
        case Integer.BYTES -> to.setAtIndex(INT, i, bits);
        case Short.BYTES -> to.setAtIndex(SHORT, i, (short) bits);
        default -> to.set(ValueLayout.JAVA_BYTE, i, (byte) bits);
      }
    }
  }

  private void copy(WorkMeter work, StridedCopy copy, MemorySegment from, MemorySegment to) {
    int length = copy.runLength();
    long fromStride = copy.runSourceStride();
    long toStride = copy.runTargetStride();
    if (fromStride == 1 && toStride == 1) {
      copy.forEachRun((source, target) -> copy(work, from, source, to, target, length));
      return;
    }
    copy.forEachRun(
        (source, target) -> {
          for (int i = 0; i < length; i++) {
            copy(work, from, source + i * fromStride, to, target + i * toStride, 1);
          }
        });
  }

  private static void rescale(
      WorkMeter work,
      StridedCopy copy,
      LookupTable rescaling,
      Elements elements,
      MemorySegment from,
      MemorySegment to) {
    copy.forEachRun(
        (source, target) -> {
          work.done(copy.runLength());
          for (int i = 0; i < copy.runLength(); i++) {
            int stored = elements.getInt(from, source + i * copy.runSourceStride());
            elements.setInt(to, target + i * copy.runTargetStride(), rescaling.apply(stored));
          }
        });
  }

  /** A kernel whose output has the elements of its first input in the same order. */
  public static Kernel unchanged() {
    return (inputs, outputs, scratch, work) ->
        BYTES.copy(work, inputs[0], 0, outputs[0], 0, inputs[0].byteSize());
  }

  /** The kernel for an operation that only moves elements. */
  public static Kernel kernel(ResolvedOperation operation) {
    Moves moves = operation.parameters(Moves.class);
    OperandType type = operation.view().output(0).type();
    DataMovement mover = of(type);
    OptionalInt fill = moves.fill();
    return (inputs, outputs, scratch, work) -> {
      if (fill.isPresent()) {
        mover.fill(work, outputs[0], operation.outputShape(0).elementCount(), fill.getAsInt());
      }
      for (Part part : moves.parts()) {
        MemorySegment from = inputs[part.input()];
        MemorySegment to = outputs[part.output()];
        if (part.rescaling().isPresent()) {
          rescale(work, part.copy(), part.rescaling().get(), Elements.of(type), from, to);
        } else {
          mover.copy(work, part.copy(), from, to);
        }
      }
    };
  }
}
