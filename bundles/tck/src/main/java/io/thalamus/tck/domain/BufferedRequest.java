// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.tck.check.TestRequest;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A request whose arguments are copied into buffers of a device, each where it has one. Used by one
 * thread but for {@link #withOutputs}; owns the buffers, which end with it.
 */
public final class BufferedRequest implements AutoCloseable {
  private final Device device;
  private final PreparedModel prepared;
  private final Request plain;
  private final List<MemoryPool> pools;
  private final List<Moved> inputs = new ArrayList<>();
  private final List<Moved> outputs = new ArrayList<>();
  private Request request;

  /** An argument in a buffer, and where the caller has it. */
  private record Moved(DeviceBuffer buffer, Location from, long bytes) {}

  private BufferedRequest(Device device, PreparedModel prepared, Request plain) {
    this.device = device;
    this.prepared = prepared;
    this.plain = plain;
    this.pools = new ArrayList<>(plain.pools());
  }

  /** Allocates the buffers and copies the inputs into theirs. */
  public static BufferedRequest of(
      Device device, PreparedModel prepared, Subgraph graph, Request plain) throws DeviceException {
    BufferedRequest copied = new BufferedRequest(device, prepared, plain);
    try {
      List<Argument> in = copied.move(graph, Direction.INPUT);
      List<Argument> out = copied.move(graph, Direction.OUTPUT);
      copied.request = new Request(in, out, copied.pools);
      copied.copyIn();
      return copied;
    } catch (DeviceException e) {
      copied.close();
      throw e;
    }
  }

  private List<Argument> move(Subgraph graph, Direction direction) throws DeviceException {
    boolean isInput = direction == Direction.INPUT;
    List<Argument> moved = new ArrayList<>(isInput ? plain.inputs() : plain.outputs());
    for (int i = 0; i < moved.size(); i++) {
      Operand operand = isInput ? graph.input(i) : graph.output(i);
      if (moved.get(i) instanceof Location place
          && operand.isSizeKnown()
          && place.length() == operand.byteSize()) {
        DeviceBuffer buffer = allocate(new BufferRole(prepared, direction, i, 1));
        if (buffer != null) {
          (isInput ? inputs : outputs).add(new Moved(buffer, place, operand.byteSize()));
          moved.set(i, new Location(pools.size(), 0, 0, place.shape()));
          pools.add(new MemoryPool.Device(buffer));
        }
      }
    }
    return moved;
  }

  /** A buffer; null where the device has none for this argument. */
  private DeviceBuffer allocate(BufferRole role) throws DeviceException {
    try {
      return device.allocate(new BufferDesc(Shape.NONE), List.of(role));
    } catch (DeviceException e) {
      if (e.status() == ErrorStatus.GENERAL_FAILURE
          || e.status() == ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT
          || e.status() == ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT) {
        return null;
      }
      throw e;
    }
  }

  private MemorySegment segment(Moved moved) {
    MemoryPool pool = plain.pools().get(moved.from().pool());
    return ((MemoryPool.Shared) pool)
        .memory()
        .segment()
        .asSlice(moved.from().offset(), moved.bytes());
  }

  private void copyIn() throws DeviceException {
    for (Moved moved : inputs) {
      try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, moved.bytes())) {
        memory.segment().copyFrom(segment(moved));
        moved.buffer().copyFrom(memory, Shape.NONE);
      }
    }
  }

  /** Copies the outputs to where the caller wants them. */
  void copyOut() throws DeviceException {
    for (Moved moved : outputs) {
      try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, moved.bytes())) {
        moved.buffer().copyTo(memory);
        segment(moved).copyFrom(memory.segment());
      }
    }
  }

  /** The request to execute. */
  Request request() {
    return request;
  }

  /** The request with its inputs, which any number of executions may read, and other outputs. */
  public Request withOutputs(TestRequest outputs) {
    List<MemoryPool> all = new ArrayList<>(pools);
    all.add(new MemoryPool.Shared(outputs.outputs()));
    List<Argument> moved = new ArrayList<>();
    for (Argument output : outputs.request().outputs()) {
      Location place = (Location) output;
      moved.add(new Location(pools.size(), place.offset(), place.length(), place.shape()));
    }
    return new Request(request.inputs(), moved, all);
  }

  /** Returns how many arguments stand in buffers. */
  int buffers() {
    return inputs.size() + outputs.size();
  }

  @Override
  public void close() {
    inputs.forEach(moved -> moved.buffer().close());
    outputs.forEach(moved -> moved.buffer().close());
  }
}
