// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.proxy;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * The lanes of one remote model: a burst for each caller at the same time, up to a limit. Models
 * that are executed once or twice, or take long, get none: their executions go through the socket,
 * where nothing has to be opened. Thread-safe; owned by the model.
 */
final class Lanes implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Lanes.class.getPackageName());
  private static final int MAX_LANES = 8;
  private static final int EXECUTIONS_WITHOUT_BURST = 2;
  private static final long SHORT_NANOS = 50_000_000;

  private final BurstSettings settings;
  private final Supplier<Optional<BurstService>> bursts;
  private final AtomicInteger executions = new AtomicInteger();
  private final Deque<Lane> idle = new ArrayDeque<>();
  private volatile boolean isShort;
  private volatile boolean isRefused;
  private boolean isClosed;

  /**
   * The lanes of a model, none of which is open yet.
   *
   * @param isPolling whether bursts poll before they sleep
   */
  Lanes(RemoteDevice device, boolean isPolling, Supplier<Optional<BurstService>> bursts) {
    this.isRefused = !device.isByDescriptor();
    this.bursts = bursts;
    BurstSettings usual = BurstSettings.DEFAULT;
    this.settings =
        new BurstSettings(
            usual.depth(),
            isPolling ? usual.pollWindow() : Duration.ZERO,
            usual.queueLength(),
            usual.version(),
            device::buffer);
  }

  /** Takes a lane of the model, which {@link #giveBack} must follow. */
  Lane take(PreparedModel model) {
    Lane lane;
    synchronized (idle) {
      lane = idle.poll();
    }
    lane = lane == null ? new Lane() : lane;
    if (!lane.hasBurst() && isShort && !isRefused && isOftenExecuted()) {
      open(lane, model);
    }
    return lane;
  }

  private boolean isOftenExecuted() {
    return executions.incrementAndGet() > EXECUTIONS_WITHOUT_BURST;
  }

  private void open(Lane lane, PreparedModel model) {
    Optional<BurstService> service = bursts.get();
    try {
      if (service.isPresent()) {
        BurstClient client = service.get().open(model, settings);
        if (!client.isServedByDriver()) {
          // Its server would be here, and gain nothing.
          client.close();
          isRefused = true;
        } else {
          lane.setBurst(client);
        }
      }
    } catch (DeviceException e) {
      isRefused = true;
      LOG.log(Level.DEBUG, "executions go without bursts: {0}", e.getMessage());
    }
  }

  /** Says how long an execution took: long ones get no burst. */
  void took(long nanos) {
    isShort = nanos < SHORT_NANOS;
  }

  boolean isShort() {
    return isShort;
  }

  /** Keeps a lane for the next execution, unless enough are kept. */
  void giveBack(Lane lane) {
    synchronized (idle) {
      if (!isClosed && idle.size() < MAX_LANES) {
        // The last is the warmest.
        idle.push(lane);
        return;
      }
    }
    lane.close();
  }

  @Override
  public void close() {
    Deque<Lane> left;
    synchronized (idle) {
      isClosed = true;
      left = new ArrayDeque<>(idle);
      idle.clear();
    }
    left.forEach(Lane::close);
  }
}
