// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.request;

import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Shape;
import io.thalamus.vectors.DecodedExample;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * A request for an example with memory of its own: inputs in pool 0, outputs in pool 1. Owned by
 * whoever made it, who closes it when nothing executes any more.
 */
public final class LentRequest implements AutoCloseable {
  private static final int ALIGNMENT = 64;

  /** As float32 8.5e37, as float16 NaN: what was not written equals nothing that was. */
  private static final byte PATTERN = 0x7E;

  private final Request request;
  private final SharedMemory inputs;
  private final SharedMemory outputs;

  private LentRequest(Request request, SharedMemory inputs, SharedMemory outputs) {
    this.request = request;
    this.inputs = inputs;
    this.outputs = outputs;
  }

  /** A request in memory of the kind that every device reads. */
  public static LentRequest of(DecodedExample example) {
    return of(example, MemoryKind.ASHMEM);
  }

  /** A request in memory of a kind. */
  public static LentRequest of(DecodedExample example, MemoryKind kind) {
    List<Request.Argument> inputPlaces = new ArrayList<>();
    long inputSize = 0;
    for (DecodedExample.Input input : example.inputs()) {
      long length = input.bytes().length;
      inputPlaces.add(
          input.isOmitted()
              ? Request.Argument.NO_VALUE
              : new Request.Location(0, inputSize, length, Shape.NONE));
      inputSize = aligned(inputSize + length);
    }
    List<Request.Argument> outputPlaces = new ArrayList<>();
    long outputSize = 0;
    for (DecodedExample.Expected output : example.outputs()) {
      // A result without elements still needs a byte of room.
      long length = Math.max(1, output.byteSize());
      outputPlaces.add(new Request.Location(1, outputSize, length, Shape.NONE));
      outputSize = aligned(outputSize + length);
    }
    SharedMemory inputs = SharedMemory.allocate(kind, inputSize);
    SharedMemory outputs = SharedMemory.allocate(kind, outputSize);
    outputs.segment().fill(PATTERN);
    for (int i = 0; i < inputPlaces.size(); i++) {
      if (inputPlaces.get(i) instanceof Request.Location location) {
        MemorySegment.copy(
            MemorySegment.ofArray(example.inputs().get(i).bytes()),
            0,
            inputs.segment(),
            location.offset(),
            location.length());
      }
    }
    Request request =
        new Request(
            inputPlaces,
            outputPlaces,
            List.of(new MemoryPool.Shared(inputs), new MemoryPool.Shared(outputs)));
    return new LentRequest(request, inputs, outputs);
  }

  private static long aligned(long size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }

  public Request request() {
    return request;
  }

  /** The memory of the inputs. */
  public SharedMemory inputs() {
    return inputs;
  }

  /** The memory of the outputs. */
  public SharedMemory outputs() {
    return outputs;
  }

  /** A copy of what stands in the room of an output now. */
  public byte[] output(int index) {
    Request.Location location = (Request.Location) request.outputs().get(index);
    return outputs
        .segment()
        .asSlice(location.offset(), location.length())
        .toArray(ValueLayout.JAVA_BYTE);
  }

  /** A copy of all outputs and what stands between them. */
  public byte[] allOutputs() {
    return outputs.segment().toArray(ValueLayout.JAVA_BYTE);
  }

  @Override
  public void close() {
    inputs.close();
    outputs.close();
  }
}
