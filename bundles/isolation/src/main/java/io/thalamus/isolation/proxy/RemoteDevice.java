// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.isolation.wire.CallPage;
import io.thalamus.isolation.wire.Connection;
import io.thalamus.isolation.wire.ExecutionCodec;
import io.thalamus.isolation.wire.MemoryCodec;
import io.thalamus.isolation.wire.MessageType;
import io.thalamus.isolation.wire.ModelCodec;
import io.thalamus.isolation.wire.PendingReply;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.GraphCodec;
import io.thalamus.model.wire.WireFormatException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A device whose driver is in another process. Thread-safe; closed by whoever started the process,
 * when that has ended. From then on every call ends with DEVICE_UNAVAILABLE.
 */
public final class RemoteDevice implements Device, AutoCloseable {
  /** Stands for a model or a buffer that is none of the device's own. */
  static final int FOREIGN = -1;

  private static final long FIRST_LOOK_NANOS = 1_000_000;
  static final long LONGEST_LOOK_NANOS = 5_000_000;

  private final DeviceInfo info;
  private final HostMessages host;
  private final Connection connection;
  private final CallPage page;
  private final Path folder;
  private final boolean isByDescriptor;
  private final Limits limits;
  private final Supplier<Optional<BurstService>> bursts;
  private final Map<Integer, RemoteBuffer> buffers = new ConcurrentHashMap<>();
  private final AtomicInteger lastBurst = new AtomicInteger();

  /**
   * The terms of calls: the times after which a device hangs that shows no sign of life.
   *
   * @param execution while it executes
   * @param other during any other call
   * @param byDescriptor whether to map memory by descriptor where that is possible
   */
  public record Limits(Duration execution, Duration other, boolean byDescriptor) {}

  private RemoteDevice(
      DeviceInfo info,
      HostMessages host,
      CallPage page,
      Path folder,
      boolean isByDescriptor,
      Limits limits,
      Supplier<Optional<BurstService>> bursts) {
    this.info = info;
    this.host = host;
    this.connection = host.connection();
    this.page = page;
    this.folder = folder;
    this.isByDescriptor = isByDescriptor;
    this.limits = limits;
    this.bursts = bursts;
  }

  /**
   * Opens a device that has said it is ready.
   *
   * @param host the connection to its process; stays owned by the caller
   * @param folder of both processes, for files
   * @param bursts the service by which its models are executed often; empty while there is none
   * @throws DeviceException where the processes cannot share memory
   */
  public static RemoteDevice open(
      DeviceInfo info,
      HostMessages host,
      Path folder,
      Limits limits,
      Supplier<Optional<BurstService>> bursts)
      throws DeviceException {
    Connection connection = host.connection();
    CallPage page = CallPage.allocate();
    boolean isShared = limits.byDescriptor() && share(page, connection, limits);
    boolean isByDescriptor = isShared;
    if (!isShared) {
      page.close();
      try {
        page = new CallPage(NamedFiles.allocate(MemoryKind.ASHMEM, CallPage.SIZE, folder));
      } catch (IOException e) {
        throw new DeviceException(
            ErrorStatus.GENERAL_FAILURE, "cannot write into " + folder + ": " + e.getMessage(), e);
      }
      isShared = share(page, connection, limits);
    }
    if (!isShared) {
      page.close();
      throw DeviceException.failure(
          "its process can map memory neither by descriptor nor by files in " + folder);
    }
    return new RemoteDevice(info, host, page, folder, isByDescriptor, limits, bursts);
  }

  private static boolean share(CallPage page, Connection connection, Limits limits)
      throws DeviceException {
    Encoder body = new Encoder();
    try {
      MemoryCodec.write(body, page.memory().describe());
    } catch (SharedMemoryException e) {
      // A system without /proc.
      return false;
    }
    PendingReply reply = connection.call(MessageType.CALL_PAGE, body);
    if (!reply.await(limits.other().toNanos())) {
      connection.end("its process maps no memory");
    }
    try {
      return all(reply.get(), Decoder::bool);
    } catch (WireFormatException e) {
      return false;
    }
  }

  /** Reads a whole answer. */
  private static <T> T all(Decoder answer, Decoder.Element<T> element) throws WireFormatException {
    return answer.all(element);
  }

  /** Returns whether the processes map each other's memory by descriptor, and not by named file. */
  public boolean isByDescriptor() {
    return isByDescriptor;
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    try (Lending pools = lend(model.pools())) {
      Encoder body = new Encoder();
      pools.write(body);
      ModelCodec.write(body, model, model.pools());
      BitSet supported =
          BitSet.valueOf(read(call(MessageType.SUPPORTED_OPERATIONS, body), Decoder::bytes));
      if (supported.length() > model.main().operations().size()) {
        throw nonsense(new WireFormatException("it supports operations that the model lacks"));
      }
      return supported;
    }
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    try (Lending pools = lend(model.pools())) {
      Encoder body = new Encoder();
      pools.write(body);
      ModelCodec.write(body, model, model.pools());
      return prepare(MessageType.PREPARE, body, config, Optional.of(model));
    }
  }

  @Override
  public PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    int before = host.caches().lateReturns();
    try {
      return restore(config);
    } catch (DeviceException e) {
      // What the device has just stored may not be back in the files yet.
      if (e.status() == ErrorStatus.GENERAL_FAILURE
          && host.caches().settle(config.cache(), before)) {
        return restore(config);
      }
      throw e;
    }
  }

  private PreparedModel restore(PrepareConfig config) throws DeviceException {
    return prepare(MessageType.PREPARE_FROM_CACHE, new Encoder(), config, Optional.empty());
  }

  private PreparedModel prepare(
      MessageType type, Encoder body, PrepareConfig config, Optional<Model> model)
      throws DeviceException {
    if (config.deadline().hasPassed()) {
      throw new DeviceException(
          ErrorStatus.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the compilation");
    }
    body.constant(config.preference()).constant(config.priority());
    ExecutionCodec.write(body, config.deadline());
    try (CacheTransfers.Opened files = host.caches().open(config.cache())) {
      files.write(body);
      ExecutionControl control = config.control().until(config.deadline());
      Reply reply = call(type, body, control, limits.other());
      boolean isPolling = config.preference() != ExecutionPreference.LOW_POWER;
      PreparedModel prepared =
          read(
              reply.answer(),
              from ->
                  new RemotePreparedModel(
                      this, from.int32(), model, from.text(), isPolling, bursts));
      files.store();
      stopIfAsked(reply.unasked(), control, prepared);
      return prepared;
    }
  }

  /**
   * Asks a control about the checkpoints that a fast device passed between two looks, so that no
   * prepare outruns its control.
   */
  private static void stopIfAsked(int times, ExecutionControl control, PreparedModel prepared)
      throws DeviceException {
    for (int i = 0; i < times; i++) {
      ExecutionControl.Signal signal = control.status();
      if (signal != ExecutionControl.Signal.CONTINUE) {
        prepared.close();
        throw new DeviceException(
            signal == ExecutionControl.Signal.DEADLINE
                ? ErrorStatus.MISSED_DEADLINE_TRANSIENT
                : ErrorStatus.GENERAL_FAILURE,
            "the compilation was stopped: " + signal);
      }
    }
  }

  @Override
  public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
    Encoder body = new Encoder();
    GraphCodec.writeShape(body, desc.shape());
    body.list(
        roles,
        (to, role) ->
            to.int32(
                    role.model() instanceof RemotePreparedModel own && own.isOf(this)
                        ? own.id()
                        : FOREIGN)
                .constant(role.direction())
                .int32(role.index())
                .float32(role.frequency()));
    int token = read(call(MessageType.ALLOCATE, body), Decoder::int32);
    RemoteBuffer buffer = new RemoteBuffer(this, token);
    buffers.put(token, buffer);
    return buffer;
  }

  /** Returns the buffer of a token; null when there is none. */
  DeviceBuffer buffer(int token) {
    return buffers.get(token);
  }

  void close(RemoteBuffer buffer) {
    buffers.remove(buffer.token(), buffer);
    close(MessageType.CLOSE_BUFFER, buffer.token());
  }

  /** Returns the name of a buffer for its device. */
  int token(DeviceBuffer buffer) {
    return buffer instanceof RemoteBuffer own && own.isOf(this) ? own.token() : FOREIGN;
  }

  /**
   * Lends memories to the device.
   *
   * @throws DeviceException with GENERAL_FAILURE where they cannot be shared, RESOURCE_EXHAUSTED_*
   *     where there is no room
   */
  Lending lend(List<SharedMemory> memories) throws DeviceException {
    try {
      return Lending.of(memories, isByDescriptor ? null : folder);
    } catch (SharedMemoryException.Exhausted e) {
      throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, e.getMessage(), e);
    } catch (SharedMemoryException | IllegalStateException | IOException e) {
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, "a memory cannot be shared: " + e.getMessage(), e);
    }
  }

  Decoder call(MessageType type, Encoder body) throws DeviceException {
    return await(
        type, connection.call(type, body), new Patience(() -> 0, limits.other()), () -> {});
  }

  Decoder execute(MessageType type, Encoder body, ExecutionControl control) throws DeviceException {
    return call(type, body, control, limits.execution()).answer();
  }

  /**
   * The end of a call that has a control.
   *
   * @param unasked how many checkpoints of the device the control was not asked about
   */
  private record Reply(Decoder answer, int unasked) {}

  /** Makes a call that has a control; its words are the last that the body gets. */
  private Reply call(MessageType type, Encoder body, ExecutionControl control, Duration limit)
      throws DeviceException {
    OptionalInt words = page.take();
    if (words.isEmpty()) {
      throw new DeviceException(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "too many calls are under way");
    }
    int index = words.getAsInt();
    try {
      Patience patience = new Patience(() -> page.checkpoints(index), limit);
      int before = page.checkpoints(index);
      int[] looks = {0};
      Runnable look =
          () -> {
            looks[0]++;
            page.pass(index, control);
          };
      // A call that is cancelled already ends at its first checkpoint.
      look.run();
      Decoder answer = await(type, connection.call(type, body.int32(index)), patience, look);
      return new Reply(answer, Math.max(0, page.checkpoints(index) - before - looks[0]));
    } finally {
      page.giveBack(index);
    }
  }

  private Decoder await(MessageType type, PendingReply reply, Patience patience, Runnable look)
      throws DeviceException {
    for (long nanos = FIRST_LOOK_NANOS; !reply.await(nanos); ) {
      patience.except(look);
      if (patience.isOver()) {
        connection.end("it hung in " + type + " and was ended");
      }
      nanos = Math.min(2 * nanos, LONGEST_LOOK_NANOS);
    }
    return reply.get();
  }

  <T> T read(Decoder answer, Decoder.Element<T> element) throws DeviceException {
    try {
      return answer.all(element);
    } catch (WireFormatException e) {
      throw nonsense(e);
    }
  }

  /** Ends a process whose answer is none. */
  private DeviceException nonsense(WireFormatException e) {
    connection.end("it answered nonsense: " + e.getMessage());
    return new DeviceException(
        ErrorStatus.GENERAL_FAILURE, info.name() + " answered nonsense: " + e.getMessage(), e);
  }

  /** Has a model of the device serve a burst. */
  BurstContext open(int model, BurstConfig config) throws DeviceException {
    if (!isByDescriptor) {
      throw DeviceException.failure("a burst needs memory that both processes map");
    }
    int id = lastBurst.incrementAndGet();
    List<QueueDescriptor> queues = List.of(config.requestChannel(), config.resultChannel());
    List<SharedMemory> memories = new ArrayList<>();
    queues.forEach(queue -> memories.add(queue.memory()));
    if (config.protocol() instanceof BurstConfig.Version2 version) {
      memories.add(version.control());
    }
    RemoteBurst burst = new RemoteBurst(this, id, config);
    host.add(id, burst);
    boolean isOpen = false;
    try (Lending lending = lend(memories)) {
      Encoder body = new Encoder().int32(model).int32(id);
      lending.write(body);
      queues.forEach(queue -> body.int32(queue.capacity()).int32(queue.elementSize()));
      call(MessageType.OPEN_BURST, body.int64(config.pollWindow().toNanos()));
      isOpen = true;
      return burst;
    } finally {
      if (!isOpen) {
        host.remove(id);
      }
    }
  }

  void freeBurstMemory(int id, int slot) {
    close(MessageType.FREE_BURST_MEMORY, new Encoder().int32(id).int32(slot));
  }

  void closeBurst(int id) {
    close(MessageType.CLOSE_BURST, id);
    host.remove(id);
  }

  /** Returns the patience with an execution that gives signs of life. */
  Patience patience(LongSupplier signs) {
    return new Patience(signs, limits.execution());
  }

  /** Ends the process of a device that hangs; returns what to tell the caller. */
  DeviceException hung(String doing) {
    connection.end("it hung in " + doing + " and was ended");
    return new DeviceException(
        ErrorStatus.DEVICE_UNAVAILABLE, info.name() + " hung in " + doing + " and was ended");
  }

  /** Has the device give something back; a device that has ended has done so. */
  void close(MessageType type, int id) {
    close(type, new Encoder().int32(id));
  }

  private void close(MessageType type, Encoder body) {
    try {
      call(type, body);
    } catch (DeviceException e) {
      // It has ended, and nothing is left to give back.
      return;
    }
  }

  /** Gives back what calls shared with the process, which has ended. */
  @Override
  public void close() {
    page.close();
  }
}
