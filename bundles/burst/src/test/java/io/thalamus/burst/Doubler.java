// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.OutputShape;
import io.thalamus.model.Shape;
import io.thalamus.model.Timing;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** A model with one input and one output of one integer each: the output is twice the input. */
class Doubler implements PreparedModel {
  static final Completed DONE =
      new Completed(List.of(new OutputShape(Shape.of(1), true)), Timing.NONE);

  /** Requests as they came; written by the thread of the server alone. */
  volatile int executions;

  volatile Request last;
  volatile ExecutionConfig lastConfig;

  /** A request that reads the integer at one offset and writes the one at another. */
  static Request request(SharedMemory in, long from, SharedMemory out, long to) {
    return new Request(
        List.of(new Location(0, from, Integer.BYTES, Shape.NONE)),
        List.of(new Location(1, to, Integer.BYTES, Shape.NONE)),
        List.of(new MemoryPool.Shared(in), new MemoryPool.Shared(out)));
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    executions++;
    last = request;
    lastConfig = config;
    if (!(request.inputs().get(0) instanceof Location in)
        || !(request.outputs().get(0) instanceof Location out)
        || in.length() != Integer.BYTES) {
      return new Failed(ErrorStatus.INVALID_ARGUMENT, "one integer is wanted");
    }
    SharedMemory from = ((MemoryPool.Shared) request.pools().get(in.pool())).memory();
    SharedMemory to = ((MemoryPool.Shared) request.pools().get(out.pool())).memory();
    int value = from.segment().get(ValueLayout.JAVA_INT, in.offset());
    to.segment().set(ValueLayout.JAVA_INT, out.offset(), 2 * value);
    return DONE;
  }

  @Override
  public void close() {
    // It holds nothing.
  }
}
