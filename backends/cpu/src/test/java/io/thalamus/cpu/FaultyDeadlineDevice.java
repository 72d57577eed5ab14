// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.CacheFile;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.MemoryKind;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Deadline;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.model.Timing;
import io.thalamus.operations.extension.ThalamusExtension;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;

/**
 * The reference with a cache, and with deadlines that break one rule. Used by one thread at a time.
 */
final class FaultyDeadlineDevice extends DelegatingDevice implements AutoCloseable {
  /** The rules that it can break. */
  enum Fault {
    NONE,
    IGNORES_DEADLINES_OF_PREPARES,
    IGNORES_DEADLINES_OF_RESTORES,
    IGNORES_DEADLINES_OF_EXECUTIONS,
    IGNORES_DEADLINES_OF_FENCED_ONES,
    IGNORES_DEADLINES_IN_BURSTS,
    IGNORES_DURATIONS,
    COUNTS_DURATIONS_FROM_THE_LAUNCH,
    /** Looks at the deadline before it waits, and never again. */
    LOOKS_BEFORE_ITS_FENCES_ONLY,
    MISSES_WITHOUT_A_DEADLINE,
    FAILS_LATE_CALLS,
    /** Tells whoever has less than some seconds to try again. */
    IS_EXHAUSTED_IN_A_HURRY,
    COMPUTES_THOUGH_IT_IS_PAST,
    COMPUTES_WRONG_IN_A_HURRY,
    READS_ITS_OWN_CLOCK,
    TIMES_LOOPS_BY_ITS_OWN_CLOCK,
    LOOKS_AT_EVERY_TENTH_CHECKPOINT,
    BREAKS_A_MODEL_THAT_MISSED,
    BREAKS_A_BURST_THAT_MISSED,
    FAILS_THE_PREPARE_AFTER_A_MISS,
    STORES_HALF_A_MODEL,
    SPOILS_A_CACHE_AT_A_MISS,
    REFUSES_PRIORITIES
  }

  private static final Duration HURRY = Duration.ofSeconds(10);
  private static final int TENTH = 10;
  private static final Failed MISSED = new Failed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "late");

  private final Fault fault;
  private final BurstService service;

  /** The stored compilations, by token. */
  private final Map<CacheToken, Stored> stored = new HashMap<>();

  private boolean hasMissedPrepare;

  private record Stored(Model model, boolean isWhole) {}

  FaultyDeadlineDevice(Fault fault, BurstService service) {
    super(new CpuDevice("1.0.0"));
    this.fault = fault;
    this.service = service;
  }

  @Override
  public DeviceInfo info() {
    DeviceInfo info = super.info();
    return DeviceInfo.builder(info.name(), info.version())
        .capabilities(info.capabilities())
        .memoryKinds(EnumSet.of(MemoryKind.ASHMEM))
        .extensions(Set.of(ThalamusExtension.NAME))
        .cacheNeeds(new CacheNeeds(1, 0))
        .build();
  }

  @Override
  public void close() {
    ((CpuDevice) delegate()).close();
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    if (fault == Fault.REFUSES_PRIORITIES && config.priority() != Priority.MEDIUM) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, "a priority");
    }
    if (hasMissedPrepare) {
      hasMissedPrepare = false;
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "it has lost its compiler");
    }
    PreparedModel prepared;
    try {
      prepared = compile(model, config, Fault.IGNORES_DEADLINES_OF_PREPARES);
    } catch (DeviceException e) {
      hasMissedPrepare = fault == Fault.FAILS_THE_PREPARE_AFTER_A_MISS;
      if (fault == Fault.STORES_HALF_A_MODEL && config.cache().isPresent()) {
        store(config.cache().get(), new Stored(model, false));
      }
      throw e;
    }
    if (config.cache().isPresent()) {
      store(config.cache().get(), new Stored(model, true));
    }
    return new FaultyModel(prepared, true);
  }

  private PreparedModel compile(Model model, PrepareConfig config, Fault ignoring)
      throws DeviceException {
    if (isExhausted(config.deadline())) {
      throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "in a hurry");
    }
    boolean isHurried = fault == Fault.LOOKS_AT_EVERY_TENTH_CHECKPOINT;
    if (isHurried && config.deadline().hasPassed()) {
      throw new DeviceException(MISSED.status(), MISSED.message());
    }
    Deadline deadline = config.deadline();
    PrepareConfig changed = config.with(changed(deadline, fault == ignoring));
    try {
      return super.prepare(
          model, isHurried ? changed.with(tenth(config.control(), deadline)) : changed);
    } catch (DeviceException e) {
      throw fault == Fault.FAILS_LATE_CALLS
          ? new DeviceException(ErrorStatus.GENERAL_FAILURE, "it failed", e)
          : e;
    }
  }

  private boolean isExhausted(Deadline deadline) {
    return fault == Fault.IS_EXHAUSTED_IN_A_HURRY && isHurry(deadline);
  }

  private static boolean isHurry(Deadline deadline) {
    return deadline.isSet() && deadline.remaining().compareTo(HURRY) < 0;
  }

  private Deadline changed(Deadline deadline, boolean isIgnored) {
    if (isIgnored || fault == Fault.LOOKS_AT_EVERY_TENTH_CHECKPOINT) {
      return Deadline.never(deadline.clock());
    }
    return fault == Fault.READS_ITS_OWN_CLOCK && deadline.isSet()
        ? Deadline.ofNanoTime(deadline.nanoTime())
        : deadline;
  }

  private static ExecutionControl tenth(ExecutionControl control, Deadline deadline) {
    int[] passed = {0};
    return () -> {
      Signal signal = control.checkpoint();
      return ++passed[0] % TENTH == 0 && deadline.hasPassed() ? Signal.DEADLINE : signal;
    };
  }

  /** A burst tells of the deadline by its control as well. */
  private static ExecutionControl deaf(ExecutionControl control) {
    return () -> control.checkpoint() == Signal.CANCELLED ? Signal.CANCELLED : Signal.CONTINUE;
  }

  private void store(PrepareConfig.Cache cache, Stored model) throws DeviceException {
    write(cache.modelCache().getFirst(), cache.token().toArray());
    stored.put(cache.token(), model);
  }

  private static void write(CacheFile file, byte[] bytes) throws DeviceException {
    try {
      file.channel().truncate(0).write(ByteBuffer.wrap(bytes), 0);
    } catch (IOException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "a cache", e);
    }
  }

  @Override
  public PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    PrepareConfig.Cache cache = config.cache().orElseThrow();
    Stored found = stored.get(cache.token());
    try {
      ByteBuffer bytes = ByteBuffer.allocate(CacheToken.SIZE);
      cache.modelCache().getFirst().channel().read(bytes, 0);
      if (found == null || !Arrays.equals(bytes.array(), cache.token().toArray())) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "nothing is stored");
      }
    } catch (IOException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "a cache", e);
    }
    try {
      return new FaultyModel(
          compile(found.model(), config, Fault.IGNORES_DEADLINES_OF_RESTORES), found.isWhole());
    } catch (DeviceException e) {
      if (fault == Fault.SPOILS_A_CACHE_AT_A_MISS) {
        write(cache.modelCache().getFirst(), new byte[0]);
      }
      throw e;
    }
  }

  /** A model whose executions go wrong as the fault has it. */
  private final class FaultyModel extends DelegatingPreparedModel {
    private final boolean isWhole;
    private boolean hasMissed;

    FaultyModel(PreparedModel within, boolean isWhole) {
      super(FaultyDeadlineDevice.this, within);
      this.isWhole = isWhole;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      return run(request, config, Fault.IGNORES_DEADLINES_OF_EXECUTIONS);
    }

    private ExecutionResult run(Request request, ExecutionConfig config, Fault ignoring) {
      Deadline deadline = config.deadline();
      boolean isLate = deadline.hasPassed();
      boolean isWrong = fault == Fault.COMPUTES_WRONG_IN_A_HURRY && isHurry(deadline);
      if (fault == Fault.LOOKS_AT_EVERY_TENTH_CHECKPOINT && isLate) {
        return MISSED;
      }
      if (fault == Fault.MISSES_WITHOUT_A_DEADLINE && !deadline.isSet()) {
        return MISSED;
      }
      if (isExhausted(deadline)) {
        return new Failed(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "in a hurry");
      }
      if (hasMissed) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "it is broken");
      }
      boolean isIgnored = fault == ignoring || fault == Fault.COMPUTES_THOUGH_IT_IS_PAST && isLate;
      ExecutionConfig changed = withDeadline(config, changed(deadline, isIgnored));
      ExecutionResult result =
          delegate().execute(request, isIgnored ? changed.with(deaf(config.control())) : changed);
      if (fault == Fault.COMPUTES_THOUGH_IT_IS_PAST && isLate) {
        return MISSED;
      }
      if ((isWrong || !isWhole) && result instanceof ExecutionResult.Completed) {
        damage(request);
      }
      boolean isMissed = result.status() == MISSED.status() || isLate && !isIgnored;
      hasMissed = fault == Fault.BREAKS_A_MODEL_THAT_MISSED && isMissed;
      return fault == Fault.FAILS_LATE_CALLS && isMissed
          ? new Failed(ErrorStatus.GENERAL_FAILURE, "it failed")
          : result;
    }

    private ExecutionConfig withDeadline(ExecutionConfig config, Deadline deadline) {
      return switch (fault) {
        case LOOKS_AT_EVERY_TENTH_CHECKPOINT ->
            config.with(deadline).with(tenth(config.control(), config.deadline()));
        case TIMES_LOOPS_BY_ITS_OWN_CLOCK ->
            config.with(deadline.isSet() ? deadline : Deadline.NONE);
        default -> config.with(deadline);
      };
    }

    private static void damage(Request request) {
      if (request.outputs().getFirst() instanceof Request.Location place
          && request.pools().get(place.pool()) instanceof MemoryPool.Shared shared) {
        MemorySegment output = shared.memory().segment();
        byte right = output.get(ValueLayout.JAVA_BYTE, place.offset());
        output.set(ValueLayout.JAVA_BYTE, place.offset(), (byte) (right ^ 1));
      }
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
      Deadline launched = end(config);
      Deadline deadline = config.deadline();
      boolean isInTime = fault == Fault.LOOKS_BEFORE_ITS_FENCES_ONLY && !deadline.hasPassed();
      try {
        waitFor.forEach(fence -> fence.future().join());
      } catch (CompletionException e) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "a fence failed", e);
      }
      Deadline duration = fault == Fault.COUNTS_DURATIONS_FROM_THE_LAUNCH ? launched : end(config);
      if (isInTime) {
        deadline = Deadline.never(deadline.clock());
      }
      ExecutionResult result =
          run(
              request,
              config.with(duration.earlier(deadline)),
              Fault.IGNORES_DEADLINES_OF_FENCED_ONES);
      if (result instanceof Failed failed) {
        throw new DeviceException(failed.status(), failed.message());
      }
      FencedExecution.Info info = new FencedExecution.Info(result, Timing.NONE, Timing.NONE);
      return new FencedExecution(SyncFence.signalled(), () -> info);
    }

    /** The end of the duration, if it began now. */
    private Deadline end(ExecutionConfig config) {
      Deadline never = Deadline.never(config.deadline().clock());
      return fault == Fault.IGNORES_DURATIONS
          ? never
          : config
              .duration()
              .map(duration -> Deadline.after(duration, never.clock()))
              .orElse(never);
    }

    @Override
    public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
      return service.serve(config, new InBurst(this));
    }
  }

  /** The prepared model of a burst. */
  private final class InBurst extends DelegatingPreparedModel {
    private final FaultyModel model;
    private boolean hasMissed;

    InBurst(FaultyModel model) {
      super(FaultyDeadlineDevice.this, model);
      this.model = model;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      if (hasMissed) {
        return new Failed(ErrorStatus.GENERAL_FAILURE, "the burst is broken");
      }
      ExecutionResult result = model.run(request, config, Fault.IGNORES_DEADLINES_IN_BURSTS);
      hasMissed = fault == Fault.BREAKS_A_BURST_THAT_MISSED && result instanceof Failed;
      return result;
    }
  }
}
