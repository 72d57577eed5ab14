// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.host;

import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.CacheFile;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.isolation.wire.CallPage;
import io.thalamus.isolation.wire.Connection;
import io.thalamus.isolation.wire.DeviceCodec;
import io.thalamus.isolation.wire.ExecutionCodec;
import io.thalamus.isolation.wire.MemoryCodec;
import io.thalamus.isolation.wire.MessageType;
import io.thalamus.isolation.wire.ModelCodec;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.memory.SharedMemoryHandle;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.model.Shape;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.GraphCodec;
import io.thalamus.model.wire.WireFormatException;
import java.lang.System.Logger.Level;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A device that serves the calls of another process. Thread-safe. Owns the connection and its
 * threads, the prepared models, the buffers and the bursts; borrows the device.
 */
public final class DeviceHost implements Connection.Receiver, AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DeviceHost.class.getPackageName());
  private static final long PATIENCE_SECONDS = 5;

  private final Device device;
  private final Path folder;
  private final Connection connection;
  private final ExecutorService threads;
  private final AtomicInteger lastModel = new AtomicInteger();
  private final Map<Integer, HostedModel> models = new ConcurrentHashMap<>();
  private final Map<Integer, DeviceBuffer> buffers = new ConcurrentHashMap<>();
  private final Map<Integer, HostedBurst> bursts = new ConcurrentHashMap<>();
  private final CountDownLatch end = new CountDownLatch(1);
  private volatile CallPage page;

  /** A prepared model and the memories of its constants, which it owns. */
  private record HostedModel(PreparedModel model, MappedMemories constants)
      implements AutoCloseable {
    @Override
    public void close() {
      model.close();
      constants.close();
    }
  }

  /** A call that was read, and now asks the device. */
  @FunctionalInterface
  private interface Action {
    Encoder run() throws DeviceException;
  }

  /**
   * A host of a device; {@link #start} makes it serve.
   *
   * @param channel is connected
   * @param folder of both processes, for files
   */
  public DeviceHost(Device device, SocketChannel channel, Path folder) {
    this.device = device;
    this.folder = folder;
    this.connection = new Connection(channel, "thalamus-host", this);
    AtomicInteger count = new AtomicInteger();
    this.threads =
        Executors.newCachedThreadPool(
            work ->
                Thread.ofPlatform()
                    .daemon()
                    .name("thalamus-host-" + count.incrementAndGet())
                    .unstarted(work));
  }

  /** Says that the device is ready, and serves it until the other process ends or lets go. */
  public void start(Map<String, Object> properties) throws DeviceException {
    Encoder body = new Encoder();
    DeviceCodec.write(body, properties);
    DeviceCodec.write(body, device.info());
    connection.start();
    connection.send(MessageType.READY, body);
  }

  /** Waits until the connection has ended. */
  public void await() throws InterruptedException {
    end.await();
  }

  @Override
  public void closed(String why) {
    end.countDown();
  }

  @Override
  public void receive(MessageType type, long call, Decoder body) throws WireFormatException {
    Decoder.Element<Action> reading =
        switch (type) {
          case CALL_PAGE -> this::callPage;
          case SUPPORTED_OPERATIONS -> this::supportedOperations;
          case PREPARE -> this::prepare;
          case PREPARE_FROM_CACHE -> this::prepareFromCache;
          case ALLOCATE -> this::allocate;
          case COPY_TO -> this::copyTo;
          case COPY_FROM -> this::copyFrom;
          case EXECUTE -> this::execute;
          case EXECUTE_FENCED -> this::executeFenced;
          case CLOSE_MODEL -> in -> givingBack(models.remove(in.int32()), HostedModel::close);
          case CLOSE_BUFFER -> in -> givingBack(buffers.remove(in.int32()), DeviceBuffer::close);
          case OPEN_BURST -> this::openBurst;
          case CLOSE_BURST -> in -> givingBack(bursts.remove(in.int32()), HostedBurst::close);
          case FREE_BURST_MEMORY -> this::freeBurstMemory;
          default -> throw new WireFormatException("the container sent " + type);
        };
    threads.execute(() -> serve(call, body, reading));
  }

  /**
   * Serves a call. An exception of the driver ends the call and nothing else, as in the container:
   * the errors of a broken driver have unwound its own frames.
   */
  private void serve(long call, Decoder body, Decoder.Element<Action> reading) {
    try {
      connection.reply(call, body.all(reading).run());
    } catch (DeviceException e) {
      connection.fail(call, status(e), String.valueOf(e.getMessage()), e.retryAfter());
    } catch (WireFormatException e) {
      connection.end("the container sent nonsense: " + e.getMessage());
    } catch (SharedMemoryException e) {
      connection.fail(
          call, ErrorStatus.GENERAL_FAILURE, "a memory cannot be mapped: " + e.getMessage());
    } catch (OutOfMemoryError e) {
      connection.fail(call, ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "it ran out of memory: " + e);
    } catch (RuntimeException | Error e) {
      connection.fail(call, ErrorStatus.GENERAL_FAILURE, "it broke: " + e);
    }
  }

  private static ErrorStatus status(DeviceException e) {
    return e.status() == ErrorStatus.NONE ? ErrorStatus.GENERAL_FAILURE : e.status();
  }

  /** Maps the page, and says whether that was possible. */
  private Action callPage(Decoder in) throws WireFormatException {
    SharedMemoryHandle handle = MemoryCodec.handle(in);
    return () -> {
      boolean isMapped = false;
      try {
        page = new CallPage(MappedMemories.map(List.of(handle), folder).list().getFirst());
        isMapped = true;
      } catch (SharedMemoryException e) {
        LOG.log(Level.DEBUG, "the page of calls cannot be mapped: {0}", e.getMessage());
      }
      return new Encoder().bool(isMapped);
    };
  }

  private Action supportedOperations(Decoder in) throws WireFormatException {
    MappedMemories pools = MappedMemories.read(in, folder);
    Model model = ModelCodec.read(in, pools.list());
    return () -> {
      try (pools) {
        return new Encoder().bytes(device.supportedOperations(model).toByteArray());
      }
    };
  }

  private Action prepare(Decoder in) throws WireFormatException {
    MappedMemories pools = MappedMemories.read(in, folder);
    Model model = ModelCodec.read(in, pools.list());
    ConfigOfPrepare config = config(in);
    return () -> {
      boolean isPrepared = false;
      try (config) {
        Encoder reply = keep(device.prepare(model, config.config()), pools);
        isPrepared = true;
        return reply;
      } finally {
        if (!isPrepared) {
          pools.close();
        }
      }
    };
  }

  private Action prepareFromCache(Decoder in) throws WireFormatException {
    ConfigOfPrepare config = config(in);
    return () -> {
      try (config) {
        return keep(
            device.prepareFromCache(config.config()), MappedMemories.map(List.of(), folder));
      }
    };
  }

  private Encoder keep(PreparedModel model, MappedMemories constants) {
    int id = lastModel.incrementAndGet();
    models.put(id, new HostedModel(model, constants));
    return new Encoder().int32(id).text(model.staleness().orElse(""));
  }

  /** The settings of a prepare, with the first handles of its cache files, which it owns. */
  private record ConfigOfPrepare(PrepareConfig config) implements AutoCloseable {
    @Override
    public void close() {
      config.cache().ifPresent(cache -> cache.modelCache().forEach(CacheFile::close));
      config.cache().ifPresent(cache -> cache.dataCache().forEach(CacheFile::close));
    }
  }

  private ConfigOfPrepare config(Decoder in) throws WireFormatException {
    ExecutionPreference preference = in.constant(ExecutionPreference.values());
    Priority priority = in.constant(Priority.values());
    Deadline deadline = ExecutionCodec.deadline(in);
    Optional<PrepareConfig.Cache> cache =
        in.optional(
            from ->
                new PrepareConfig.Cache(
                    from.list(this::cacheFile),
                    from.list(this::cacheFile),
                    CacheToken.of(from.bytes())));
    return new ConfigOfPrepare(
        new PrepareConfig(preference, priority, deadline, control(in), cache));
  }

  private CacheFile cacheFile(Decoder in) throws WireFormatException {
    return HostedCacheFile.open(in.int32(), Path.of(in.text()), in.bool(), connection);
  }

  private ExecutionControl control(Decoder in) throws WireFormatException {
    CallPage shared = page;
    if (shared == null) {
      throw new WireFormatException("a call came before the page of calls");
    }
    return shared.control(in.int32());
  }

  private Action allocate(Decoder in) throws WireFormatException {
    Shape shape = GraphCodec.shape(in);
    List<BufferRole> roles = in.list(this::role);
    return () -> {
      DeviceBuffer buffer = device.allocate(new BufferDesc(shape), roles);
      buffers.put(buffer.token(), buffer);
      return new Encoder().int32(buffer.token());
    };
  }

  private BufferRole role(Decoder in) throws WireFormatException {
    return new BufferRole(
        model(in.int32()), in.constant(BufferRole.Direction.values()), in.int32(), in.float32());
  }

  /** Returns a model that is here, or one that the device refuses. */
  private PreparedModel model(int id) {
    HostedModel hosted = models.get(id);
    return hosted == null ? Foreign.model() : hosted.model();
  }

  /** Returns a buffer that is here, or one that the device refuses. */
  private DeviceBuffer buffer(int token) {
    DeviceBuffer buffer = buffers.get(token);
    return buffer == null ? Foreign.buffer(token) : buffer;
  }

  private Action copyTo(Decoder in) throws WireFormatException {
    DeviceBuffer buffer = buffer(in.int32());
    MappedMemories destination = MappedMemories.read(in, folder);
    return () -> {
      try (destination) {
        buffer.copyTo(destination.list().getFirst());
        return new Encoder();
      }
    };
  }

  private Action copyFrom(Decoder in) throws WireFormatException {
    DeviceBuffer buffer = buffer(in.int32());
    MappedMemories source = MappedMemories.read(in, folder);
    Shape shape = GraphCodec.shape(in);
    return () -> {
      try (source) {
        buffer.copyFrom(source.list().getFirst(), shape);
        return new Encoder();
      }
    };
  }

  private Action execute(Decoder in) throws WireFormatException {
    PreparedModel model = model(in.int32());
    MappedMemories memories = MappedMemories.read(in, folder);
    Request request = ExecutionCodec.request(in, memories.list(), this::buffer);
    ExecutionConfig config = executionConfig(in);
    return () -> {
      try (memories) {
        Encoder reply = new Encoder();
        ExecutionCodec.write(reply, model.execute(request, config));
        return reply;
      }
    };
  }

  private ExecutionConfig executionConfig(Decoder in) throws WireFormatException {
    ExecutionConfig config = ExecutionCodec.config(in, ExecutionControl.NONE);
    return config.with(control(in));
  }

  private Action executeFenced(Decoder in) throws WireFormatException {
    PreparedModel model = model(in.int32());
    MappedMemories memories = MappedMemories.read(in, folder);
    Request request = ExecutionCodec.request(in, memories.list(), this::buffer);
    ExecutionConfig config = executionConfig(in);
    return () -> {
      try (memories) {
        FencedExecution execution = model.executeFenced(request, List.of(), config);
        join(execution);
        FencedExecution.Info info = execution.executionInfo().get();
        Encoder reply = new Encoder();
        ExecutionCodec.write(reply, info.result());
        ExecutionCodec.write(reply, info.timingLaunched());
        ExecutionCodec.write(reply, info.timingFenced());
        return reply;
      }
    };
  }

  private static void join(FencedExecution execution) throws DeviceException {
    try {
      execution.syncFence().future().join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof DeviceException reason) {
        throw reason;
      }
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the fence failed: " + e, e);
    }
  }

  /** Gives something back to the device, unless that was done before. */
  private static <T> Action givingBack(T resource, Consumer<T> giving) {
    return () -> {
      if (resource != null) {
        giving.accept(resource);
      }
      return new Encoder();
    };
  }

  private Action openBurst(Decoder in) throws WireFormatException {
    PreparedModel model = model(in.int32());
    int id = in.int32();
    MappedMemories channels = MappedMemories.read(in, folder);
    HostedBurst burst = new HostedBurst(id, connection, folder, buffers::get, channels);
    QueueDescriptor requests = burst.queue(0, in);
    QueueDescriptor results = burst.queue(1, in);
    Duration pollWindow = Duration.ofNanos(in.int64());
    return () -> {
      burst.open(model, requests, results, pollWindow);
      bursts.put(id, burst);
      return new Encoder();
    };
  }

  private Action freeBurstMemory(Decoder in) throws WireFormatException {
    HostedBurst burst = bursts.get(in.int32());
    int slot = in.int32();
    return givingBack(burst, open -> open.freeMemory(slot));
  }

  /** Ends the connection and its threads; what the device made is given back to it. */
  @Override
  public void close() {
    connection.close();
    threads.shutdown();
    boolean isInterrupted = false;
    try {
      if (!threads.awaitTermination(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        LOG.log(Level.WARNING, "calls still run after {0} s", PATIENCE_SECONDS);
      }
    } catch (InterruptedException e) {
      isInterrupted = true;
    }
    bursts.values().forEach(HostedBurst::close);
    buffers.values().forEach(DeviceBuffer::close);
    models.values().forEach(HostedModel::close);
    if (page != null) {
      page.close();
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
