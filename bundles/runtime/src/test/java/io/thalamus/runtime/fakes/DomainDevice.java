// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.Request.Location;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A device with memory of its own, as strict as a driver must be: roles, states and sizes are
 * checked, and what a failed execution was to write is lost. It can lose all of it, refuse to
 * allocate, and not give contents out.
 */
public final class DomainDevice implements Device {
  /** Room for outputs of which nobody knows the size. */
  private static final int OPEN_ROOM = 1 << 16;

  /** The answers to a request for a buffer; those of CTS TestMemoryDomain. */
  public enum Allocation {
    OK,
    BAD_TOKEN,
    BAD_IBUFFER,
    BAD_STATUS,
    NOT_SUPPORTED
  }

  private final LimitedDevice inner;
  private final DeviceInfo info;
  private final AtomicInteger tokens = new AtomicInteger();
  private final AtomicInteger buffered = new AtomicInteger();
  private final Map<Buffer, Boolean> buffers = new ConcurrentHashMap<>();
  private volatile Allocation allocation = Allocation.OK;
  private volatile boolean refusesCopies;
  private volatile FaultyDevice.Execute fault;
  private volatile FaultyDevice.Execute afterwards;

  public DomainDevice(LimitedDevice inner) {
    this.inner = inner;
    DeviceInfo facts = inner.info();
    this.info =
        LimitedDevice.info(
                facts.name(),
                facts.type(),
                facts.capabilities().operandPerformance().values().iterator().next().execTime())
            .memoryDomain(true)
            .build();
  }

  /** An accelerator with this cost for everything, that executes these operations, or all. */
  public static DomainDevice of(String id, double cost, OperationCode... operations) {
    return new DomainDevice(
        operations.length == 0
            ? LimitedDevice.all(id, cost)
            : LimitedDevice.of(id, cost, operations));
  }

  /** A CPU device, whose executions are not guarded. */
  public static DomainDevice ofType(DeviceType type, String id, double cost) {
    return new DomainDevice(
        new LimitedDevice(
            LimitedDevice.info("test-" + id, type, cost).build(),
            (graph, operation) ->
                operation.type() != OperationCode.IF && operation.type() != OperationCode.WHILE));
  }

  public DomainDevice with(Allocation value) {
    allocation = value;
    return this;
  }

  /** All that its buffers hold is gone, as after a reset. */
  public void loseContents() {
    buffers.keySet().forEach(buffer -> buffer.set(false));
  }

  /** From now on, contents do not get out. */
  public void refuseCopies(boolean value) {
    refusesCopies = value;
  }

  /** Is called before it executes; its result is returned where it is not null. */
  public DomainDevice onExecute(FaultyDevice.Execute value) {
    fault = value;
    return this;
  }

  /** Is called when it has written the outputs; its result is returned where it is not null. */
  public DomainDevice afterExecute(FaultyDevice.Execute value) {
    afterwards = value;
    return this;
  }

  /** Returns the number of buffers that are not closed. */
  public int buffers() {
    return buffers.size();
  }

  /** Returns the number of executions that named a buffer. */
  public int buffered() {
    return buffered.get();
  }

  /** Returns the number of prepared models that are not closed. */
  public int open() {
    return inner.open();
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    return inner.supportedOperations(model);
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    return new Prepared(model, inner.prepare(model, config));
  }

  @Override
  public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
    if (allocation == Allocation.NOT_SUPPORTED || allocation == Allocation.BAD_STATUS) {
      throw new DeviceException(
          allocation == Allocation.BAD_STATUS
              ? ErrorStatus.RESOURCE_EXHAUSTED_PERSISTENT
              : ErrorStatus.GENERAL_FAILURE,
          "it is told not to");
    }
    if (allocation == Allocation.BAD_IBUFFER) {
      return null;
    }
    Shape shape = desc.shape();
    Operand operand = null;
    for (BufferRole role : roles) {
      if (!(role.model() instanceof Prepared prepared) || prepared.device() != this) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a model of somebody else");
      }
      operand =
          role.direction() == BufferRole.Direction.INPUT
              ? prepared.model.main().input(role.index())
              : prepared.model.main().output(role.index());
      shape = shape.isFullySpecified() && shape.rank() > 0 ? shape : operand.shape();
    }
    if (operand == null) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "no role");
    }
    Buffer buffer = new Buffer(operand.with(shape), List.copyOf(roles));
    buffers.put(buffer, true);
    return buffer;
  }

  /** Device memory: nobody but this device sees it. */
  private final class Buffer implements DeviceBuffer {
    private final int token = allocation == Allocation.BAD_TOKEN ? 0 : tokens.incrementAndGet();
    private final Operand operand;
    private final List<BufferRole> roles;
    private SharedMemory bytes;
    private Shape shape = Shape.NONE;
    private boolean isInitialized;

    Buffer(Operand operand, List<BufferRole> roles) {
      this.operand = operand;
      this.roles = roles;
      if (operand.isSizeKnown()) {
        bytes = SharedMemory.allocate(MemoryKind.ASHMEM, operand.byteSize());
        shape = operand.shape();
      }
    }

    synchronized void set(boolean value) {
      isInitialized = value;
      if (!value && bytes != null) {
        bytes.segment().fill((byte) 0x7f); // whoever reads it all the same gets nonsense
      }
    }

    synchronized void become(MemorySegment value, Shape actual) {
      if (bytes == null || bytes.size() != value.byteSize()) {
        SharedMemory old = bytes;
        bytes = SharedMemory.allocate(MemoryKind.ASHMEM, value.byteSize());
        if (old != null) {
          old.close();
        }
      }
      bytes.segment().copyFrom(value);
      shape = actual;
      isInitialized = true;
    }

    boolean hasRole(PreparedModel model, BufferRole.Direction direction, int index) {
      return roles.stream()
          .anyMatch(
              role ->
                  role.model() == model && role.direction() == direction && role.index() == index);
    }

    @Override
    public int token() {
      return token;
    }

    @Override
    public synchronized void copyTo(SharedMemory destination) throws DeviceException {
      requireOpen();
      if (refusesCopies) {
        throw new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, "the device is lost");
      }
      if (!isInitialized) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the buffer holds nothing");
      }
      if (destination.size() != bytes.size()) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "of another size");
      }
      destination.segment().copyFrom(bytes.segment());
    }

    @Override
    public synchronized void copyFrom(SharedMemory source, Shape given) throws DeviceException {
      requireOpen();
      isInitialized = false;
      if (refusesCopies) {
        throw new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, "the device is lost");
      }
      Shape actual = operand.isSizeKnown() ? operand.shape() : given;
      if (operand.with(actual).byteSize() != source.size()) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "of another size");
      }
      become(source.segment(), actual);
    }

    private void requireOpen() {
      if (!buffers.containsKey(this)) {
        throw new IllegalStateException("used after it was closed");
      }
    }

    @Override
    public void close() {
      buffers.remove(this);
    }
  }

  private final class Prepared implements PreparedModel {
    private final Model model;
    private final PreparedModel prepared;

    Prepared(Model model, PreparedModel prepared) {
      this.model = model;
      this.prepared = prepared;
    }

    DomainDevice device() {
      return DomainDevice.this;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      FaultyDevice.Execute before = fault;
      List<Buffer> written = new ArrayList<>();
      ExecutionResult result = null;
      try {
        ExecutionResult instead = before == null ? null : before.instead(request, config);
        result = instead != null ? instead : translated(request, config, written);
        FaultyDevice.Execute after = afterwards;
        ExecutionResult other = after == null ? null : after.instead(request, config);
        result = other != null ? other : result;
      } catch (DeviceException e) {
        result = new Failed(e.status(), e.getMessage());
      } finally {
        if (!(result instanceof Completed)) {
          outputs(request).forEach(buffer -> buffer.set(false));
        }
      }
      return result;
    }

    private List<Buffer> outputs(Request request) {
      List<Buffer> buffers = new ArrayList<>();
      for (Request.Argument output : request.outputs()) {
        if (output instanceof Location place
            && request.pools().get(place.pool()) instanceof MemoryPool.Device pool) {
          buffers.add((Buffer) pool.buffer());
        }
      }
      return buffers;
    }

    private ExecutionResult translated(
        Request request, ExecutionConfig config, List<Buffer> written) throws DeviceException {
      List<MemoryPool> pools = new ArrayList<>(request.pools());
      List<SharedMemory> own = new ArrayList<>();
      boolean names = request.pools().stream().anyMatch(MemoryPool.Device.class::isInstance);
      if (names) {
        buffered.incrementAndGet();
      }
      List<Request.Argument> inputs = new ArrayList<>();
      List<Request.Argument> outputs = new ArrayList<>();
      for (int i = 0; i < request.inputs().size(); i++) {
        inputs.add(input(request, i, pools, own));
      }
      for (int i = 0; i < request.outputs().size(); i++) {
        outputs.add(output(request, i, pools, own));
      }
      for (int i = 0; i < pools.size(); i++) {
        if (pools.get(i) instanceof MemoryPool.Device) {
          SharedMemory unused = SharedMemory.allocate(MemoryKind.ASHMEM, 1);
          own.add(unused);
          pools.set(i, new MemoryPool.Shared(unused));
        }
      }
      ExecutionResult result = prepared.execute(new Request(inputs, outputs, pools), config);
      if (result instanceof Completed completed) {
        for (int i = 0; i < outputs.size(); i++) {
          if (request.outputs().get(i) instanceof Location given
              && request.pools().get(given.pool()) instanceof MemoryPool.Device pool
              && outputs.get(i) instanceof Location place
              && pools.get(place.pool()) instanceof MemoryPool.Shared shared) {
            Shape actual = completed.outputs().get(i).shape();
            Operand operand = model.main().output(i);
            long bytes = operand.with(actual).byteSize();
            Buffer buffer = (Buffer) pool.buffer();
            buffer.become(shared.memory().segment().asSlice(0, bytes), actual);
            written.add(buffer);
          }
        }
      }
      own.forEach(SharedMemory::close);
      return result;
    }

    private Request.Argument input(
        Request request, int index, List<MemoryPool> pools, List<SharedMemory> own)
        throws DeviceException {
      if (!(request.inputs().get(index) instanceof Location place)
          || !(request.pools().get(place.pool()) instanceof MemoryPool.Device pool)) {
        return request.inputs().get(index);
      }
      Buffer buffer = buffer(pool, place, BufferRole.Direction.INPUT, index);
      synchronized (buffer) {
        if (!buffer.isInitialized) {
          throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "a buffer holds nothing");
        }
        SharedMemory copy = SharedMemory.allocate(MemoryKind.ASHMEM, buffer.bytes.size());
        copy.segment().copyFrom(buffer.bytes.segment());
        own.add(copy);
        pools.add(new MemoryPool.Shared(copy));
        return new Location(pools.size() - 1, 0, copy.size(), buffer.shape);
      }
    }

    private Request.Argument output(
        Request request, int index, List<MemoryPool> pools, List<SharedMemory> own)
        throws DeviceException {
      if (!(request.outputs().get(index) instanceof Location place)
          || !(request.pools().get(place.pool()) instanceof MemoryPool.Device pool)) {
        return request.outputs().get(index);
      }
      Buffer buffer = buffer(pool, place, BufferRole.Direction.OUTPUT, index);
      long room = buffer.operand.isSizeKnown() ? buffer.operand.byteSize() : OPEN_ROOM;
      SharedMemory copy = SharedMemory.allocate(MemoryKind.ASHMEM, room);
      own.add(copy);
      pools.add(new MemoryPool.Shared(copy));
      return new Location(pools.size() - 1, 0, room, place.shape());
    }

    private Buffer buffer(
        MemoryPool.Device pool, Location place, BufferRole.Direction direction, int index)
        throws DeviceException {
      Buffer buffer = (Buffer) pool.buffer();
      buffer.requireOpen();
      if (!Set.of(0L).contains(place.offset()) || place.length() != 0) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a part of a buffer");
      }
      if (!buffer.hasRole(this, direction, index)) {
        throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a role that was not declared");
      }
      return buffer;
    }

    @Override
    public void close() {
      prepared.close();
    }
  }
}
