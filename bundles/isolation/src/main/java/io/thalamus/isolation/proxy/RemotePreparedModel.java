// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.isolation.wire.ExecutionCodec;
import io.thalamus.isolation.wire.MessageType;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Timing;
import io.thalamus.model.wire.Encoder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** A model that a remote device has prepared. Thread-safe. */
final class RemotePreparedModel implements PreparedModel {
  private final RemoteDevice device;
  private final int id;
  private final Optional<Model> model;
  private final String staleness;
  private final Lanes lanes;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  /**
   * A model that the device knows by a number.
   *
   * @param model empty where it was restored
   * @param staleness why it is worth compiling anew; empty if it is not
   * @param isPolling whether its bursts poll before they sleep
   */
  RemotePreparedModel(
      RemoteDevice device,
      int id,
      Optional<Model> model,
      String staleness,
      boolean isPolling,
      Supplier<Optional<BurstService>> bursts) {
    this.lanes = new Lanes(device, isPolling, bursts);
    this.device = device;
    this.id = id;
    this.model = model;
    this.staleness = staleness;
  }

  @Override
  public Optional<String> staleness() {
    return staleness.isEmpty() ? Optional.empty() : Optional.of(staleness);
  }

  boolean isOf(RemoteDevice other) {
    return device == other;
  }

  int id() {
    return id;
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    if (isClosed.get()) {
      return new Failed(ErrorStatus.GENERAL_FAILURE, "the prepared model is closed");
    }
    // The clock of the deadline is this process's: the other one knows only how much is left.
    if (config.deadline().hasPassed()) {
      return late();
    }
    switch (config.control().status()) {
      case CANCELLED -> {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "the execution was cancelled");
      }
      case DEADLINE -> {
        return late();
      }
      case CONTINUE -> {
        // As ever.
      }
    }
    Lane lane = lanes.take(this);
    long start = System.nanoTime();
    try {
      StagedRequest staged = StagedRequest.of(request, device.info(), model, lane.scratch());
      ExecutionResult result = execute(lane, staged.request(), untilDeadline(config));
      lanes.took(System.nanoTime() - start);
      return result instanceof Completed completed ? staged.finish(completed) : result;
    } catch (DeviceException e) {
      return failed(e);
    } finally {
      lanes.giveBack(lane);
    }
  }

  /** The other process goes by its own clock, so this one stops it at a deadline of another. */
  private static ExecutionConfig untilDeadline(ExecutionConfig config) {
    return config.with(config.control().until(config.deadline()));
  }

  private static Failed late() {
    return new Failed(
        ErrorStatus.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the execution");
  }

  private ExecutionResult execute(Lane lane, Request request, ExecutionConfig config)
      throws DeviceException {
    // A packet has tokens only, which a foreign buffer may have as well.
    if (lanes.isShort() && request.pools().stream().noneMatch(this::isForeign)) {
      Optional<ExecutionResult> result = lane.execute(device, request, config);
      if (result.isPresent()) {
        return result.get();
      }
    }
    return executeRemotely(request, config);
  }

  private boolean isForeign(MemoryPool pool) {
    return pool instanceof MemoryPool.Device(var buffer)
        && device.token(buffer) == RemoteDevice.FOREIGN;
  }

  @Override
  public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
    return device.open(id, config);
  }

  private static Failed failed(DeviceException e) {
    return new Failed(
        e.status() == ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
            ? ErrorStatus.GENERAL_FAILURE
            : e.status(),
        e.getMessage());
  }

  private ExecutionResult executeRemotely(Request request, ExecutionConfig config)
      throws DeviceException {
    List<SharedMemory> memories = memories(request);
    try (Lending lending = device.lend(memories)) {
      ExecutionResult result =
          device.read(
              device.execute(
                  MessageType.EXECUTE, body(lending, request, memories, config), config.control()),
              ExecutionCodec::result);
      if (result instanceof Completed) {
        copyBack(lending, request);
      }
      return result;
    }
  }

  private Encoder body(
      Lending lending, Request request, List<SharedMemory> memories, ExecutionConfig config) {
    Encoder body = new Encoder().int32(id);
    lending.write(body);
    ExecutionCodec.write(body, request, memories, device::token);
    ExecutionCodec.write(body, config);
    return body;
  }

  private static List<SharedMemory> memories(Request request) {
    List<SharedMemory> memories = new ArrayList<>();
    for (MemoryPool pool : request.pools()) {
      if (pool instanceof MemoryPool.Shared(SharedMemory memory)) {
        memories.add(memory);
      }
    }
    return memories;
  }

  private static void copyBack(Lending lending, Request request) {
    for (Request.Argument argument : request.outputs()) {
      if (argument instanceof Request.Location location
          && request.pools().get(location.pool()) instanceof MemoryPool.Shared) {
        int index =
            (int)
                request.pools().subList(0, location.pool()).stream()
                    .filter(MemoryPool.Shared.class::isInstance)
                    .count();
        lending.copyBack(index, location.offset(), location.length());
      }
    }
  }

  @Override
  public FencedExecution executeFenced(
      Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
    long launched = System.nanoTime();
    if (StagedRequest.hasPointer(request)) {
      throw DeviceException.invalid("a fenced execution takes no arguments by pointer");
    }
    SyncFence.await(waitFor, config);
    if (config.deadline().hasPassed()
        || config.duration().filter(time -> !time.isPositive()).isPresent()) {
      throw new DeviceException(late().status(), late().message());
    }
    List<SharedMemory> memories = memories(request);
    try (Lending lending = device.lend(memories)) {
      Duration waited = Duration.ofNanos(System.nanoTime() - launched);
      FencedExecution.Info info =
          device.read(
              device.execute(
                  MessageType.EXECUTE_FENCED,
                  body(lending, request, memories, config),
                  untilDeadline(config.fromNowOn()).control()),
              in ->
                  new FencedExecution.Info(
                      ExecutionCodec.result(in),
                      later(ExecutionCodec.timing(in), waited),
                      ExecutionCodec.timing(in)));
      if (info.result() instanceof Completed) {
        copyBack(lending, request);
      }
      return new FencedExecution(SyncFence.signalled(), () -> info);
    }
  }

  /** Returns the times from the launch here, given those from the launch there. */
  private static Timing later(Timing timing, Duration waited) {
    return new Timing(timing.onDevice(), timing.inDriver().map(waited::plus));
  }

  @Override
  public void close() {
    if (isClosed.compareAndSet(false, true)) {
      lanes.close();
      device.close(MessageType.CLOSE_MODEL, id);
    }
  }
}
