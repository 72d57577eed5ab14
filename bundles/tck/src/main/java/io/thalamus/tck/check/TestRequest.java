// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.check;

import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.DeviceTarget;
import io.thalamus.vectors.ExampleMemory;
import io.thalamus.vectors.Target.Arguments;
import io.thalamus.vectors.Target.Range;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A request with memory of its own: inputs in pool 0, outputs in pool 1. Immutable; owned by its
 * maker, who closes it when nothing executes any more.
 */
public final class TestRequest implements AutoCloseable {
  private static final int ALIGNMENT = 64;

  /** The room of an output whose size only an execution determines. */
  private static final int OPEN_ROOM = 1 << 14;

  private final Arguments arguments;
  private final Request request;

  private TestRequest(Arguments arguments) {
    this.arguments = arguments;
    this.request = DeviceTarget.request(arguments);
  }

  /** Returns a request for an example, in memory of the kind that every device reads. */
  public static TestRequest of(DecodedExample example) {
    return new TestRequest(ExampleMemory.of(example, example.model(), false).arguments());
  }

  /**
   * Returns a request for a graph whose inputs are of known size.
   *
   * @param values of the first inputs; the others are zeros
   */
  public static TestRequest of(Subgraph graph, byte[]... values) {
    List<Range> inputs =
        ranges(IntStream.range(0, graph.inputIndexes().size()).mapToObj(graph::input).toList());
    List<Range> outputs =
        ranges(IntStream.range(0, graph.outputIndexes().size()).mapToObj(graph::output).toList());
    TestRequest request =
        new TestRequest(new Arguments(memory(inputs), inputs, memory(outputs), outputs));
    for (int i = 0; i < values.length; i++) {
      slice(request.inputs(), inputs.get(i)).copyFrom(MemorySegment.ofArray(values[i]));
    }
    return request;
  }

  private static List<Range> ranges(List<Operand> operands) {
    List<Range> ranges = new ArrayList<>();
    long offset = 0;
    for (Operand operand : operands) {
      long length = operand.isSizeKnown() ? operand.byteSize() : OPEN_ROOM;
      ranges.add(new Range(offset, length, Shape.NONE));
      offset += (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return ranges;
  }

  private static SharedMemory memory(List<Range> ranges) {
    long size = ranges.isEmpty() ? 1 : ranges.getLast().offset() + ranges.getLast().length();
    return SharedMemory.allocate(MemoryKind.ASHMEM, size);
  }

  private static MemorySegment slice(SharedMemory memory, Range range) {
    return memory.segment().asSlice(range.offset(), range.length());
  }

  public Request request() {
    return request;
  }

  /** The memory of the inputs. */
  public SharedMemory inputs() {
    return arguments.inputMemory();
  }

  /** The memory of the outputs. */
  public SharedMemory outputs() {
    return arguments.outputMemory();
  }

  /** A copy of what stands in the room of an output now. */
  public byte[] output(int index) {
    return slice(outputs(), arguments.outputs().get(index)).toArray(ValueLayout.JAVA_BYTE);
  }

  /** Copies of what stands in the room of each output now. */
  public List<byte[]> results() {
    return IntStream.range(0, arguments.outputs().size()).mapToObj(this::output).toList();
  }

  /** A copy of all inputs and what stands between them. */
  public byte[] allInputs() {
    return inputs().segment().toArray(ValueLayout.JAVA_BYTE);
  }

  /** A copy of all outputs and what stands between them. */
  public byte[] allOutputs() {
    return outputs().segment().toArray(ValueLayout.JAVA_BYTE);
  }

  @Override
  public void close() {
    inputs().close();
    outputs().close();
  }
}
