// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.request;

import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.DeviceTarget;
import io.thalamus.vectors.ExampleMemory;
import java.lang.foreign.ValueLayout;

/**
 * A request for an example with memory of its own: inputs in pool 0, outputs in pool 1. Immutable;
 * owned by whoever made it, who closes it when nothing executes any more.
 */
public final class TestRequest implements AutoCloseable {
  private final ExampleMemory memory;
  private final Request request;

  private TestRequest(ExampleMemory memory) {
    this.memory = memory;
    this.request = DeviceTarget.request(memory.arguments());
  }

  /** Returns a request in memory of the kind that every device reads. */
  public static TestRequest of(DecodedExample example) {
    return new TestRequest(ExampleMemory.of(example, example.model(), false));
  }

  public Request request() {
    return request;
  }

  /** The memory of the inputs. */
  public SharedMemory inputs() {
    return memory.arguments().inputMemory();
  }

  /** The memory of the outputs. */
  public SharedMemory outputs() {
    return memory.arguments().outputMemory();
  }

  /** A copy of what stands in the room of an output now. */
  public byte[] output(int index) {
    return memory.output(index).toArray(ValueLayout.JAVA_BYTE);
  }

  /** A copy of all outputs and what stands between them. */
  public byte[] allOutputs() {
    return outputs().segment().toArray(ValueLayout.JAVA_BYTE);
  }

  @Override
  public void close() {
    memory.close();
  }
}
