// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstExecutor;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.burst.BurstStatistics;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Bursts over queues of the JDK, served by a thread each. Counts what is open. */
public final class ThreadBursts implements BurstService {
  private static final Asked END = new Asked(null, null);

  private final AtomicInteger open = new AtomicInteger();
  private final AtomicInteger opened = new AtomicInteger();
  private volatile boolean refuses;
  private volatile boolean breaks;

  private record Asked(Request request, ExecutionConfig config) {}

  /** From now on, no burst can be opened, or one can again. */
  public void refuse(boolean value) {
    refuses = value;
  }

  /** The next request that a server reads ends it without an answer. */
  public void breakNext() {
    breaks = true;
  }

  /** Returns the number of open bursts. */
  public int open() {
    return open.get();
  }

  /** Returns the number of bursts that were ever opened. */
  public int opened() {
    return opened.get();
  }

  @Override
  public BurstContext serve(BurstConfig config, PreparedModel model) throws DeviceException {
    throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "it has no queues of its own");
  }

  @Override
  public BurstContext serve(BurstConfig config, BurstExecutor executor) throws DeviceException {
    throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "it has no queues of its own");
  }

  @Override
  public BurstClient open(PreparedModel model, BurstSettings settings) throws DeviceException {
    if (refuses) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "no room for queues");
    }
    open.incrementAndGet();
    opened.incrementAndGet();
    Client client = new Client(model, settings);
    Thread.ofPlatform().daemon().name("test-burst").start(client::serve);
    return client;
  }

  private final class Client implements BurstClient {
    private final PreparedModel model;
    private final BurstSettings settings;
    private final BlockingQueue<Asked> requests = new LinkedBlockingQueue<>();
    private final BlockingQueue<ExecutionResult> results = new LinkedBlockingQueue<>();
    private final AtomicInteger underWay = new AtomicInteger();
    private final AtomicInteger packets = new AtomicInteger();
    private volatile boolean isCancelled;
    private volatile boolean isBroken;
    private boolean isClosed;

    Client(PreparedModel model, BurstSettings settings) {
      this.model = model;
      this.settings = settings;
    }

    void serve() {
      try {
        for (Asked asked = requests.take(); asked != END; asked = requests.take()) {
          if (breaks) {
            breaks = false;
            isBroken = true;
            return;
          }
          packets.incrementAndGet();
          results.add(execute(asked));
        }
      } catch (InterruptedException e) {
        isBroken = true;
      }
    }

    private ExecutionResult execute(Asked asked) {
      List<MemoryPool> pools = new ArrayList<>();
      for (MemoryPool pool : asked.request().pools()) {
        if (pool instanceof MemoryPool.Device named) {
          DeviceBuffer found = settings.buffers().apply(named.buffer().token());
          if (found == null) {
            return new ExecutionResult.Failed(
                ErrorStatus.INVALID_ARGUMENT, "no buffer has the token");
          }
          pools.add(new MemoryPool.Device(found));
        } else {
          pools.add(pool);
        }
      }
      Request request = new Request(asked.request().inputs(), asked.request().outputs(), pools);
      return model.execute(
          request,
          asked
              .config()
              .with(
                  () ->
                      isCancelled
                          ? Signal.CANCELLED
                          : asked.config().deadline().hasPassed()
                              ? Signal.DEADLINE
                              : Signal.CONTINUE));
    }

    @Override
    public boolean send(Request request, ExecutionConfig config) {
      if (isBroken
          || underWay.get() == settings.depth()
          || request.inputs().stream().anyMatch(Request.Pointer.class::isInstance)
          || request.outputs().stream().anyMatch(Request.Pointer.class::isInstance)) {
        return false;
      }
      isCancelled = false;
      underWay.incrementAndGet();
      requests.add(new Asked(request, config));
      return true;
    }

    @Override
    public ExecutionResult receive(long timeoutNanos) {
      boolean wasBroken = isBroken;
      ExecutionResult result = null;
      try {
        result = results.poll(timeoutNanos, TimeUnit.NANOSECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      if (result == null && wasBroken) {
        result = new ExecutionResult.Failed(ErrorStatus.DEVICE_UNAVAILABLE, "the server is gone");
      }
      if (result != null) {
        underWay.decrementAndGet();
      }
      return result;
    }

    @Override
    public void cancel() {
      isCancelled = true;
    }

    @Override
    public long checkpoints() {
      return 0;
    }

    @Override
    public int underWay() {
      return underWay.get();
    }

    @Override
    public void freeMemory(SharedMemory memory) {
      // Nothing is kept.
    }

    @Override
    public BurstStatistics statistics() {
      return new BurstStatistics(packets.get(), packets.get(), 0);
    }

    @Override
    public boolean isServedByDriver() {
      return false;
    }

    @Override
    public boolean isBroken() {
      return isBroken;
    }

    @Override
    public synchronized void close() {
      if (!isClosed) {
        isClosed = true;
        isBroken = true;
        requests.add(END);
        open.decrementAndGet();
      }
    }
  }
}
