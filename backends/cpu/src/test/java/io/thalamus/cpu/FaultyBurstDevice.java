// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.BurstCallback;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstConfig.Version2;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The reference with bursts of its own, which break one rule. Thread-safe; closing it ends what its
 * faults left behind.
 */
final class FaultyBurstDevice extends DelegatingDevice implements AutoCloseable {
  /** The rules that it can break. */
  enum Fault {
    NONE,
    // The execution of requests.
    KEEPS_STALE_MEMORY,
    KEEPS_FREED_MEMORY_MAPPED,
    KEEPS_MEMORY_MAPPED_AFTER_CLOSING,
    CONFUSES_SLOTS,
    REUSES_THE_REQUEST_OF_THE_SAME_SLOTS,
    IGNORES_CANCELLATION,
    CANCELS_FOR_EVER,
    IGNORES_DEADLINES,
    MISSES_ALL_DEADLINES,
    IGNORES_LOOP_TIMEOUTS,
    COMPUTES_SOMETHING_ELSE,
    LOSES_SHAPES,
    // What it is configured with.
    ASKS_FOR_SLOTS_TWICE,
    HANGS_WHERE_A_SLOT_IS_UNKNOWN,
    TAKES_TOKENS_OF_ALL_CLIENTS,
    TAKES_NO_TOKENS,
    SPEAKS_VERSION_1_ONLY,
    TAKES_ANY_QUEUE,
    SERVES_ONE_BURST_AT_A_TIME,
    SERVES_ONE_BURST_ONLY,
    LEAVES_A_THREAD,
    // Packets.
    ENDS_AT_A_BAD_PACKET,
    SWALLOWS_REQUESTS,
    BELIEVES_ANY_SIZE,
    TAKES_UNKNOWN_SLOTS_FOR_THE_FIRST,
    ALWAYS_TIMES,
    ANSWERS_OUT_OF_ORDER,
    ANSWERS_TWICE,
    TELLS_SHAPES_OF_FAILURES,
    LEAKS_MEMORY_IN_UNUSED_BYTES,
    WRITES_RESULTS_IN_PIECES,
    DROPS_RESULTS_WITHOUT_ROOM;

    private boolean isOfPackets() {
      return compareTo(ENDS_AT_A_BAD_PACKET) >= 0;
    }
  }

  private final Fault fault;
  private final BurstService service;
  private final Map<Integer, DeviceBuffer> buffers = new ConcurrentHashMap<>();
  private final CountDownLatch end = new CountDownLatch(1);

  FaultyBurstDevice(Fault fault, BurstService service) {
    super(new CpuDevice("1.0.0"));
    this.fault = fault;
    this.service = service;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    return new FaultyModel(super.prepare(model, config));
  }

  @Override
  public DeviceBuffer allocate(BufferDesc desc, List<BufferRole> roles) throws DeviceException {
    DeviceBuffer buffer = super.allocate(desc, roles);
    buffers.put(buffer.token(), buffer);
    return buffer;
  }

  @Override
  public void close() {
    end.countDown();
    ((CpuDevice) delegate()).close();
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A model whose bursts are served as the fault has it. */
  private final class FaultyModel extends DelegatingPreparedModel {
    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicInteger open = new AtomicInteger();

    FaultyModel(PreparedModel within) {
      super(FaultyBurstDevice.this, within);
    }

    @Override
    public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
      boolean isRefused =
          fault == Fault.SERVES_ONE_BURST_AT_A_TIME && open.get() > 0
              || fault == Fault.SERVES_ONE_BURST_ONLY && opened.get() > 0;
      if (isRefused) {
        throw new DeviceException(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "one burst is enough");
      }
      CountDownLatch closing = new CountDownLatch(1);
      BurstConfig changed = changed(config, closing);
      FaultyExecutor executor = new FaultyExecutor(fault, delegate(), changed);
      BurstContext context;
      try {
        context =
            fault.isOfPackets()
                ? new Relay(fault, service, changed, delegate())
                : service.serve(changed, executor);
      } catch (DeviceException e) {
        if (fault == Fault.TAKES_ANY_QUEUE) {
          return new NoBurst();
        }
        throw e;
      }
      opened.incrementAndGet();
      open.incrementAndGet();
      return new FaultyContext(context, executor, closing);
    }

    private BurstConfig changed(BurstConfig config, CountDownLatch closing) {
      Version2 version2 = config.protocol() instanceof Version2 known ? known : null;
      return switch (fault) {
        case ASKS_FOR_SLOTS_TWICE ->
            with(
                config,
                slots -> {
                  config.callback().getMemories(slots);
                  return config.callback().getMemories(slots);
                });
        case HANGS_WHERE_A_SLOT_IS_UNKNOWN ->
            with(
                config,
                slots -> {
                  try {
                    return config.callback().getMemories(slots);
                  } catch (DeviceException e) {
                    await(closing);
                    throw e;
                  }
                });
        case TAKES_TOKENS_OF_ALL_CLIENTS ->
            version2 == null
                ? config
                : with(config, new Version2(version2.control(), buffers::get));
        case TAKES_NO_TOKENS ->
            version2 == null ? config : with(config, new Version2(version2.control(), _ -> null));
        case SPEAKS_VERSION_1_ONLY -> with(config, BurstConfig.Protocol.HAL_1_2);
        default -> config;
      };
    }

    private BurstConfig with(BurstConfig config, BurstCallback callback) {
      return new BurstConfig(
          callback,
          config.requestChannel(),
          config.resultChannel(),
          config.protocol(),
          config.pollWindow());
    }

    private BurstConfig with(BurstConfig config, BurstConfig.Protocol protocol) {
      return new BurstConfig(
          config.callback(),
          config.requestChannel(),
          config.resultChannel(),
          protocol,
          config.pollWindow());
    }

    /** A burst that counts itself. */
    private final class FaultyContext implements BurstContext {
      private final BurstContext within;
      private final FaultyExecutor executor;
      private final CountDownLatch closing;

      FaultyContext(BurstContext within, FaultyExecutor executor, CountDownLatch closing) {
        this.within = within;
        this.executor = executor;
        this.closing = closing;
      }

      @Override
      public void freeMemory(int slot) {
        within.freeMemory(slot);
      }

      @Override
      public void close() {
        executor.closing();
        closing.countDown();
        within.close();
        open.decrementAndGet();
        if (fault == Fault.LEAVES_A_THREAD) {
          Thread.ofPlatform().stackSize(1 << 16).daemon().start(() -> await(end));
        }
      }
    }
  }

  /** A burst that serves nobody. */
  private static final class NoBurst implements BurstContext {
    @Override
    public void freeMemory(int slot) {
      // Holds nothing.
    }

    @Override
    public void close() {
      // Holds nothing.
    }
  }
}
