// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Argument;
import io.thalamus.hal.Request.Location;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.FilledMemory;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestGraph;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * The things that one check makes: models, buffers and memories, all closed with it in reverse
 * order. Used by one thread.
 */
abstract class Fixture implements AutoCloseable {
  /** The ways to execute requests. */
  enum Mode {
    SYNC,
    FENCED
  }

  /** The body of a check. */
  @FunctionalInterface
  interface Body<F extends Fixture> {
    void run(F fixture) throws Exception;
  }

  /** Makes the fixture of a check. */
  @FunctionalInterface
  interface Maker<F extends Fixture> {
    F make(Device device, DomainModel usual, Mode mode);
  }

  private final Device device;
  private final DomainModel usual;
  private final Mode mode;
  private final Deque<Runnable> made = new ArrayDeque<>();

  Fixture(Device device, DomainModel usual, Mode mode) {
    this.device = device;
    this.usual = usual;
    this.mode = mode;
  }

  Device device() {
    return device;
  }

  /** The model that the check is about. */
  DomainModel usual() {
    return usual;
  }

  /** The way in which {@link #execute} executes. */
  Mode mode() {
    return mode;
  }

  private Model build(DomainModel model) {
    TestGraph graph = model.build();
    made.push(graph::close);
    return graph.model();
  }

  boolean takes(DomainModel model) {
    return Probes.takes(device, build(model));
  }

  void skipUnlessTaken(DomainModel model, String what) {
    if (!takes(model)) {
      throw Expect.skip("the device takes no " + what);
    }
  }

  PreparedModel prepare() throws DeviceException {
    return prepare(usual);
  }

  PreparedModel prepare(DomainModel model) throws DeviceException {
    PreparedModel prepared = device.prepare(build(model), PrepareConfig.DEFAULT);
    made.push(prepared::close);
    return prepared;
  }

  static BufferRole in(PreparedModel model, int index) {
    return new BufferRole(model, Direction.INPUT, index, 1);
  }

  static BufferRole out(PreparedModel model, int index) {
    return new BufferRole(model, Direction.OUTPUT, index, 1);
  }

  /** A buffer of the size that its roles say. */
  DeviceBuffer allocate(BufferRole... roles) throws DeviceException {
    return allocate(Shape.NONE, roles);
  }

  /** A buffer; a device may have none for some type: then there is nothing to try. */
  DeviceBuffer allocate(Shape shape, BufferRole... roles) throws DeviceException {
    try {
      DeviceBuffer buffer = device.allocate(new BufferDesc(shape), List.of(roles));
      made.push(buffer::close);
      return buffer;
    } catch (DeviceException e) {
      if (e.status() == ErrorStatus.GENERAL_FAILURE) {
        throw Expect.skip("the device has no such buffer: " + e.getMessage());
      }
      throw e;
    }
  }

  /** A buffer of the usual shape with values. */
  DeviceBuffer written(BufferRole... roles) throws DeviceException {
    DeviceBuffer buffer = allocate(roles);
    buffer.copyFrom(values(), Shape.NONE);
    return buffer;
  }

  /** Memory of this many bytes, all 0. */
  SharedMemory memory(long bytes) {
    SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, bytes);
    made.push(memory::close);
    return memory;
  }

  /** Memory with values for an input of the usual shape. */
  SharedMemory values() {
    SharedMemory memory = memory(usual.bytes());
    usual.fill(memory.segment(), 1);
    return memory;
  }

  /** The same values in memory of a kind. */
  SharedMemory values(MemoryKind kind) throws IOException {
    FilledMemory filled = FilledMemory.of(kind, values().segment());
    made.push(filled::close);
    return filled.memory();
  }

  /** Room for an output of the usual shape. */
  SharedMemory room() {
    return memory(usual.bytes());
  }

  static void expectEqual(SharedMemory expected, SharedMemory actual, String otherwise) {
    Expect.that(expected.segment().mismatch(actual.segment()) < 0, otherwise);
  }

  /** A request of arguments that are a {@link DeviceBuffer} or a {@link SharedMemory} each. */
  static Request request(List<?> inputs, List<?> outputs) {
    List<MemoryPool> pools = new ArrayList<>();
    return new Request(places(inputs, pools), places(outputs, pools), pools);
  }

  private static List<Argument> places(List<?> arguments, List<MemoryPool> pools) {
    List<Argument> places = new ArrayList<>();
    for (Object argument : arguments) {
      if (argument instanceof SharedMemory memory) {
        places.add(new Location(pools.size(), 0, memory.size(), Shape.NONE));
        pools.add(new MemoryPool.Shared(memory));
      } else {
        places.add(new Location(pools.size(), 0, 0, Shape.NONE));
        pools.add(new MemoryPool.Device((DeviceBuffer) argument));
      }
    }
    return places;
  }

  /** Executes, and expects how that ends. */
  void execute(ErrorStatus wanted, String what, PreparedModel model, Request request)
      throws Exception {
    ErrorStatus status =
        mode == Mode.SYNC
            ? model.execute(request, ExecutionConfig.DEFAULT).status()
            : Probes.fenced(model, request, SyncFence.signalled(), ExecutionConfig.DEFAULT);
    Expect.status(what, status, wanted);
  }

  @Override
  public void close() {
    while (!made.isEmpty()) {
      made.pop().run();
    }
  }
}
