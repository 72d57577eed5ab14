// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BufferRole.Direction;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.FencedExecution;
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
import io.thalamus.tck.request.FilledMemory;
import io.thalamus.vectors.Outcome;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The things that one check makes: models, buffers and memories, all closed with it in reverse
 * order. Used by one thread.
 */
final class Fixture implements AutoCloseable {
  /** Longer than any execution here takes; only a fence that is lost makes anyone wait for it. */
  private static final long FENCE_SECONDS = 120;

  /** The ways to execute requests. */
  enum Mode {
    SYNC,
    FENCED
  }

  private final Device device;
  private final DomainModel usual;
  private final SharedMemory weights;
  private final Deque<Runnable> made = new ArrayDeque<>();

  Fixture(Device device, DomainModel usual) {
    this.device = device;
    this.usual = usual;
    this.weights = usual.newWeights();
  }

  Device device() {
    return device;
  }

  /** The model that the check is about. */
  DomainModel usual() {
    return usual;
  }

  /** Returns whether the device takes a model. */
  boolean takes(DomainModel model) {
    return takes(model.build(weights));
  }

  private boolean takes(Model model) {
    try {
      return device.supportedOperations(model).cardinality() == model.main().operations().size();
    } catch (DeviceException e) {
      return false;
    }
  }

  PreparedModel prepare() throws DeviceException {
    return prepare(usual);
  }

  PreparedModel prepare(DomainModel model) throws DeviceException {
    return prepare(model.build(weights));
  }

  PreparedModel prepare(Model model) throws DeviceException {
    PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT);
    made.push(prepared::close);
    return prepared;
  }

  /** A prepared model, or null where the device does not take it. */
  PreparedModel prepareIfTaken(Model model) throws DeviceException {
    return takes(model) ? prepare(model) : null;
  }

  static BufferRole in(PreparedModel model, int index) {
    return new BufferRole(model, Direction.INPUT, index, 1);
  }

  static BufferRole out(PreparedModel model, int index) {
    return new BufferRole(model, Direction.OUTPUT, index, 1);
  }

  /** A device may have no buffers for some type: then there is nothing to try. */
  static final class NoBufferException extends Exception {
    private static final long serialVersionUID = 1L;

    private NoBufferException(DeviceException cause) {
      super("the device has no such buffer: " + cause.getMessage(), cause);
    }
  }

  DeviceBuffer allocate(BufferRole... roles) throws DeviceException, NoBufferException {
    return allocate(Shape.NONE, roles);
  }

  DeviceBuffer allocate(Shape shape, BufferRole... roles)
      throws DeviceException, NoBufferException {
    try {
      DeviceBuffer buffer = device.allocate(new BufferDesc(shape), List.of(roles));
      made.push(buffer::close);
      return buffer;
    } catch (DeviceException e) {
      if (e.status() == ErrorStatus.GENERAL_FAILURE) {
        throw new NoBufferException(e);
      }
      throw e;
    }
  }

  /** A buffer of the usual shape with values. */
  DeviceBuffer written(BufferRole... roles) throws DeviceException, NoBufferException {
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
    made.push(
        () -> {
          try {
            filled.close();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
    return filled.memory();
  }

  /** Room for an output of the usual shape. */
  SharedMemory room() {
    return memory(usual.bytes());
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

  /** Returns how an execution ends. */
  static ErrorStatus execute(PreparedModel model, Request request, Mode mode)
      throws InterruptedException, TimeoutException, ExecutionException {
    if (mode == Mode.SYNC) {
      return model.execute(request, ExecutionConfig.DEFAULT).status();
    }
    try {
      FencedExecution execution =
          model.executeFenced(request, List.of(SyncFence.signalled()), ExecutionConfig.DEFAULT);
      execution.syncFence().future().get(FENCE_SECONDS, TimeUnit.SECONDS);
      return execution.executionInfo().get().result().status();
    } catch (DeviceException e) {
      return e.status();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof DeviceException cause) {
        return cause.status();
      }
      throw e;
    }
  }

  /** A call that is to end with a status. */
  @FunctionalInterface
  interface Call {
    void run() throws Exception;
  }

  /** Passed where a call is refused with one of these statuses. */
  static Outcome refused(Set<ErrorStatus> wanted, String what, Call call) throws Exception {
    try {
      call.run();
    } catch (DeviceException e) {
      return wanted.contains(e.status())
          ? Outcome.PASSED
          : new Outcome.Failed(what + " was refused with " + e.status() + ", not with " + wanted);
    }
    return new Outcome.Failed(what + " was not refused");
  }

  /** Passed where an execution ended as wanted. */
  static Outcome ended(ErrorStatus wanted, String what, ErrorStatus actual) {
    return actual == wanted
        ? Outcome.PASSED
        : new Outcome.Failed(what + " ended with " + actual + ", not with " + wanted);
  }

  /** The first that is not passed, or passed. */
  static Outcome all(Outcome... outcomes) {
    for (Outcome outcome : outcomes) {
      if (!(outcome instanceof Outcome.Passed)) {
        return outcome;
      }
    }
    return Outcome.PASSED;
  }

  @Override
  public void close() {
    while (!made.isEmpty()) {
      made.pop().run();
    }
    weights.close();
  }
}
