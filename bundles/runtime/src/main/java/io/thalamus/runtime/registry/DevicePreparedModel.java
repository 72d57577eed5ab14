// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstSettings;
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
import io.thalamus.memory.Leases;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperationCode;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Unanswered;
import io.thalamus.runtime.call.PendingCall;
import io.thalamus.runtime.call.Supervisor;
import io.thalamus.runtime.call.Supervisor.Work;
import io.thalamus.runtime.call.Terms;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.schedule.Contender;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * A prepared model together with the device it lives on. Thread-safe. Owned by whoever prepared it;
 * a departing device closes it too. While calls run that were given up, closing waits for them.
 */
public final class DevicePreparedModel implements DeviceResource {
  private static final ExecutionResult UNAVAILABLE =
      new Failed(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");

  private final RegisteredDevice device;
  private final Optional<String> staleness;
  private final Admission admission;
  private final boolean hasLoop;
  private final long ownBytes;
  private final ReferenceCount uses = new ReferenceCount(this::closeNow);

  /** Null once closed and idle: nothing here may refer to a device that has left. */
  private volatile PreparedModel model;

  private volatile long longestNanos;

  DevicePreparedModel(
      RegisteredDevice device,
      PreparedModel prepared,
      Model model,
      Optional<String> staleness,
      Admission admission) {
    this.device = device;
    this.staleness = staleness;
    this.admission = admission;
    this.model = prepared;
    long reported = prepared.ownBytes();
    this.ownBytes = reported < 0 ? constants(model) : reported;
    this.hasLoop =
        model
            .subgraphs()
            .flatMap(graph -> graph.operations().stream())
            .anyMatch(operation -> operation.type() == OperationCode.WHILE);
  }

  /** Returns the bytes of what a device that does not count may have copied. */
  private static long constants(Model model) {
    return model
        .subgraphs()
        .flatMap(graph -> graph.operands().stream())
        .map(Operand::lifetime)
        .filter(Lifetime.Constant.class::isInstance)
        .mapToLong(constant -> ((Lifetime.Constant) constant).bytes().byteSize())
        .sum();
  }

  /** Returns how many bytes the device holds for it alone, as far as that is known. */
  public long ownBytes() {
    return ownBytes;
  }

  /** Returns the device it lives on. */
  public RegisteredDevice device() {
    return device;
  }

  /** Returns the reason why it is worth compiling anew, if it was restored and there is one. */
  public Optional<String> staleness() {
    return staleness;
  }

  /** Returns the very object of the driver, as roles of buffers need it; empty once closed. */
  public Optional<PreparedModel> unwrap() {
    return uses.isClosed() ? Optional.empty() : Optional.ofNullable(model);
  }

  /**
   * Executes. Never throws for what a driver does wrong; the memories of the request stay mapped
   * until the driver returns.
   *
   * <p>A CPU device computes in the calling thread. Any other device is called in a thread of the
   * runtime: hardware can hang, and its caller must get an answer all the same.
   *
   * <p>An execution of an application waits for a permit of the device, and holds it until it has
   * an answer or is given up. That wait and its pauses count neither as time of the device nor
   * against a limit.
   *
   * @param buffers of the device, those that the request names; they are not closed before the
   *     driver returns
   */
  public Answer<ExecutionResult> execute(
      Request request, ExecutionConfig config, List<DeviceMemory> buffers) {
    Contender contender = Turns.contender(config);
    Answer<ExecutionResult> refusal = device.supervisor().refusal(admission);
    if (refusal == null) {
      refusal = Turns.begin(device, contender, true);
    }
    if (refusal != null) {
      return refusal;
    }
    try {
      return Turns.end(device, contender, executeNow(request, config, buffers));
    } finally {
      if (contender != null) {
        device.schedule().release(contender);
      }
    }
  }

  private Answer<ExecutionResult> executeNow(
      Request request, ExecutionConfig config, List<DeviceMemory> buffers) {
    boolean isGuarded = device.isGuarded();
    Terms terms = executionTerms(config, isGuarded ? device.supervisor().size() : 1);
    long start = device.time().nanoTime();
    Answer<ExecutionResult> answer =
        device
            .supervisor()
            .call(terms, execution(request, config, buffers, PreparedModel::execute), late -> {});
    if (answer instanceof Answered && isGuarded) {
      long now = device.time().nanoTime();
      measured(now - start - terms.pauses().pausedNanos(now));
    }
    return answer;
  }

  /**
   * Has the driver execute a link of a chain, as soon as its fence signals. The call keeps a thread
   * of the runtime, and the memories of the request mapped, until the driver is done.
   *
   * @param config of the chain
   */
  PendingCall<ExecutionResult> launch(FencedChain.Link link, ExecutionConfig config) {
    Request request = link.request();
    Executing executing =
        link.fence() == null
            ? PreparedModel::execute
            : (open, lent, settings) -> fenced(open, lent, settings, link);
    Optional<Duration> limit = Optional.of(limit(config, device.supervisor().size()));
    return device
        .supervisor()
        .launch(
            new Terms("execute", admission, limit, link, Turns.pauses(config)),
            execution(request, config, List.of(), executing),
            link::answered);
  }

  private static ExecutionResult fenced(
      PreparedModel open, Request request, ExecutionConfig config, FencedChain.Link link)
      throws DeviceException {
    FencedExecution execution = open.executeFenced(request, List.of(link.fence()), config);
    try {
      // However long it takes: until then the memories are in use. The watchdog is elsewhere.
      execution.syncFence().future().join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof DeviceException reason) {
        throw reason;
      }
      throw e;
    }
    FencedExecution.Info info = execution.executionInfo().get();
    link.launched(info.timingLaunched());
    return info.result() instanceof Completed(var outputs, _, var in, var out)
        ? new Completed(outputs, info.timingFenced(), in, out)
        : info.result();
  }

  /**
   * Returns the terms of an execution.
   *
   * @param together how many executions the device works on
   */
  Terms executionTerms(ExecutionConfig config, int together) {
    return new Terms(
        "execute",
        admission,
        device.isGuarded() ? Optional.of(limit(config, together)) : Optional.empty(),
        config.control(),
        Turns.pauses(config));
  }

  /**
   * Opens a burst, which the caller owns. If that fails, it is tried again when it is used.
   *
   * @param depth how many executions it takes at once
   * @param pollWindow how long its readers poll before they sleep
   * @param onEnd gets the number of requests that a server has read when it is done
   */
  public DeviceBurst createBurst(
      Bursts bursts, int depth, Duration pollWindow, LongConsumer onEnd) {
    BurstSettings settings =
        new BurstSettings(
            depth,
            pollWindow,
            BurstSettings.DEFAULT_QUEUE_LENGTH,
            2,
            device::buffer,
            !device.isGuarded());
    DeviceBurst burst = new DeviceBurst(this, bursts, settings, onEnd);
    if (device.keep(burst)) {
      burst.isOpen();
    }
    return burst;
  }

  /** Returns until when the device takes executions: for a probe, also in quarantine. */
  Admission admission() {
    return admission;
  }

  /** The call that opens a burst. */
  @FunctionalInterface
  interface Opening {
    BurstClient open(PreparedModel served) throws DeviceException;
  }

  /** Opens a burst on the model, which then is served by the driver or for it. */
  Answer<BurstClient> openBurst(Opening opening, Consumer<BurstClient> late) {
    Answer<BurstClient> answer =
        device
            .supervisor()
            .call(
                device.terms("configureExecutionBurst", admission),
                (driver, control) -> opening.open(new Served()),
                unneeded -> unneeded.ifAnswered(late));
    device.blame("configureExecutionBurst", answer, false);
    return answer;
  }

  /** The model for executions that a thread of a burst asks for. Thread-safe. */
  private final class Served implements PreparedModel {
    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      return resultOf(
          Supervisor.ask(
              execution(request, config, List.of(), PreparedModel::execute),
              null,
              config.control()));
    }

    @Override
    public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
      PreparedModel open = model;
      if (open == null) {
        throw new DeviceException(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
      }
      return open.configureExecutionBurst(config);
    }

    @Override
    public void close() {
      // Whoever prepared the model closes it.
    }
  }

  /** Returns the result of an execution; a failure with the same words when there is no answer. */
  public static ExecutionResult resultOf(Answer<ExecutionResult> answer) {
    return switch (answer) {
      case Answered<ExecutionResult>(ExecutionResult result) -> result;
      case Unanswered<ExecutionResult> none ->
          new Failed(none.status(), none.message(), none.retryAfter());
    };
  }

  /**
   * Returns how long an execution may take: some times the longest until now, for each of those
   * that the device works on together. A loop may take its time on top of that.
   */
  private Duration limit(ExecutionConfig config, int together) {
    DeviceSettings settings = device.settings();
    long longest = longestNanos;
    Duration limit =
        longest == 0
            ? Duration.ofMillis(settings.firstExecutionMillis())
            : device.limit(longest * Math.max(1, together), settings.executionFloorMillis());
    return hasLoop ? limit.plus(config.loopTimeout()) : limit;
  }

  /** The call by which a driver executes. */
  @FunctionalInterface
  private interface Executing {
    ExecutionResult execute(PreparedModel model, Request request, ExecutionConfig config)
        throws DeviceException;
  }

  /** Returns one execution: keeps model, memories and buffers until the driver returns. */
  private Work<ExecutionResult> execution(
      Request request, ExecutionConfig config, List<DeviceMemory> buffers, Executing executing) {
    return (driver, control) -> {
      if (!uses.retain()) {
        return UNAVAILABLE;
      }
      int entered = 0;
      try (Leases leases = new Leases()) {
        for (MemoryPool pool : request.pools()) {
          if (pool instanceof MemoryPool.Shared shared) {
            leases.add(shared.memory());
          }
        }
        for (DeviceMemory buffer : buffers) {
          if (buffer.enter() == null) {
            return UNAVAILABLE;
          }
          entered++;
        }
        ExecutionResult result = executing.execute(model, request, config.with(control));
        return result != null
            ? result
            : new Failed(ErrorStatus.GENERAL_FAILURE, "it returned no result");
      } finally {
        for (int i = 0; i < entered; i++) {
          buffers.get(i).exit();
        }
        uses.release();
      }
    };
  }

  /** Remembers the longest time, and forgets it slowly: the first one may have been compiling. */
  void measured(long nanos) {
    // Two threads may overwrite each other's value: an estimate is all it is.
    long decayed = longestNanos - (longestNanos >> 6);
    longestNanos = Math.max(1, Math.max(nanos, decayed));
  }

  @Override
  public void close() {
    // A departure waits for it, as for any other call.
    device.supervisor().retain();
    try {
      if (uses.close()) {
        device.forget(this);
      }
    } finally {
      device.supervisor().release();
    }
  }

  private void closeNow() {
    PreparedModel open = model;
    model = null;
    device.close("a prepared model", open::close);
  }
}
