// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.vectors.Target.Arguments;
import io.thalamus.vectors.Target.Range;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The memory of one execution of an example, inputs filled in. As thread-safe as memory is; owned
 * by its maker, who closes it when nothing executes any more.
 *
 * <pre>
 *   inputs    | 0 | 1 |  ...            each at a multiple of 64, bytes behind the last one too
 *   outputs   | 0 |guard| 1 |guard| ... the same, filled with a pattern
 * </pre>
 */
public final class ExampleMemory implements AutoCloseable {
  private static final int ALIGNMENT = 64;
  private static final int GUARD = 16;

  /** As float32 8.5e37, as float16 NaN: an output that was not written is near no expected one. */
  private static final byte PATTERN = 0x7E;

  private final DecodedExample example;
  private final Arguments arguments;

  private ExampleMemory(DecodedExample example, Arguments arguments) {
    this.example = example;
    this.arguments = arguments;
  }

  /**
   * Memory for an example.
   *
   * @param model that is executed: the example's, of which dimensions may have been left open
   * @param shorten whether output 0 gets one byte less than it needs
   */
  public static ExampleMemory of(DecodedExample example, Model model, boolean shorten) {
    List<Range> inputs = new ArrayList<>();
    long inputSize = 0;
    for (int i = 0; i < example.inputs().size(); i++) {
      DecodedExample.Input input = example.inputs().get(i);
      boolean isOpen = !model.main().input(i).isSizeKnown() && input.bytes().length > 0;
      Shape shape = isOpen ? input.operand().shape() : Shape.NONE;
      inputs.add(new Range(inputSize, input.bytes().length, shape));
      inputSize = aligned(inputSize + input.bytes().length);
    }
    List<Range> outputs = new ArrayList<>();
    long outputSize = 0;
    for (DecodedExample.Expected output : example.outputs()) {
      // A zero-sized result still needs a buffer of at least a byte.
      long length = Math.max(1, output.byteSize() - (shorten && outputs.isEmpty() ? 1 : 0));
      outputs.add(new Range(outputSize, length, Shape.NONE));
      outputSize = aligned(outputSize + length + GUARD);
    }
    SharedMemory inputMemory = SharedMemory.allocate(MemoryKind.ASHMEM, inputSize);
    SharedMemory outputMemory;
    try {
      outputMemory = SharedMemory.allocate(MemoryKind.ASHMEM, outputSize);
    } catch (RuntimeException e) {
      inputMemory.close();
      throw e;
    }
    for (int i = 0; i < inputs.size(); i++) {
      byte[] bytes = example.inputs().get(i).bytes();
      MemorySegment.copy(
          MemorySegment.ofArray(bytes),
          0,
          inputMemory.segment(),
          inputs.get(i).offset(),
          bytes.length);
    }
    outputMemory.segment().fill(PATTERN);
    return new ExampleMemory(example, new Arguments(inputMemory, inputs, outputMemory, outputs));
  }

  private static long aligned(long size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  /** The arguments, as a target takes them. */
  public Arguments arguments() {
    return arguments;
  }

  /** The bytes of an output. */
  public MemorySegment output(int index) {
    Range range = arguments.outputs().get(index);
    return arguments.outputMemory().segment().asSlice(range.offset(), range.length());
  }

  /** Returns what was written that may not be. */
  public Optional<String> damage() {
    MemorySegment inputs = arguments.inputMemory().segment();
    for (int i = 0; i < arguments.inputs().size(); i++) {
      Range range = arguments.inputs().get(i);
      MemorySegment given = MemorySegment.ofArray(example.inputs().get(i).bytes());
      if (given.mismatch(inputs.asSlice(range.offset(), range.length())) >= 0) {
        return Optional.of("input " + i + " was changed");
      }
    }
    MemorySegment outputs = arguments.outputMemory().segment();
    for (int i = 0; i < arguments.outputs().size(); i++) {
      Range range = arguments.outputs().get(i);
      long end = range.offset() + range.length();
      long next =
          i + 1 < arguments.outputs().size()
              ? arguments.outputs().get(i + 1).offset()
              : outputs.byteSize();
      for (long at = end; at < next; at++) {
        if (outputs.get(ValueLayout.JAVA_BYTE, at) != PATTERN) {
          return Optional.of("byte " + (at - end) + " behind output " + i + " was written");
        }
      }
    }
    return Optional.empty();
  }

  @Override
  public void close() {
    arguments.inputMemory().close();
    arguments.outputMemory().close();
  }
}
