// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.BufferDesc;
import io.thalamus.hal.BufferRole;
import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceBuffer;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Model;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A device whose synchronous executions all go by burst, one burst for each prepared model, and are
 * held to the synchronous path of the device within, bit for bit: whatever runs on it tries bursts
 * as well. Thread-safe; borrows device and service.
 *
 * <p>A request with an argument in a buffer of the device is executed by burst only, as the buffer
 * of a result cannot be put back to what it was.
 */
public final class BurstDevice extends DelegatingDevice {
  private final BurstService service;
  private final BurstSettings settings;
  private final Duration limit;
  private final Map<Integer, DeviceBuffer> buffers = new ConcurrentHashMap<>();

  /**
   * A device whose executions go by burst.
   *
   * @param settings of every burst; its buffers are those that this device allocates
   * @param limit for each execution
   */
  public BurstDevice(Device within, BurstService service, BurstSettings settings, Duration limit) {
    super(within);
    this.service = Objects.requireNonNull(service, "service");
    this.settings =
        new BurstSettings(
            settings.depth(),
            settings.pollWindow(),
            settings.queueLength(),
            settings.version(),
            buffers::get);
    this.limit = Objects.requireNonNull(limit, "limit");
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    PreparedModel prepared = super.prepare(model, config);
    try {
      return new BurstModel(this, prepared, service.open(prepared, settings), limit);
    } catch (DeviceException | RuntimeException | Error e) {
      prepared.close();
      throw e;
    }
  }

  @Override
  public DeviceBuffer allocate(BufferDesc desc, java.util.List<BufferRole> roles)
      throws DeviceException {
    DeviceBuffer buffer = super.allocate(desc, roles);
    buffers.put(buffer.token(), buffer);
    return buffer;
  }

  /** A prepared model with its burst, which takes one request at a time. */
  private static final class BurstModel extends DelegatingPreparedModel {
    private final BurstClient client;
    private final Duration limit;

    BurstModel(BurstDevice owner, PreparedModel within, BurstClient client, Duration limit) {
      super(owner, within);
      this.client = client;
      this.limit = limit;
    }

    @Override
    public synchronized ExecutionResult execute(Request request, ExecutionConfig config) {
      boolean isShared = request.pools().stream().allMatch(MemoryPool.Shared.class::isInstance);
      SamePath path = isShared ? SamePath.of(delegate(), request, config) : null;
      BurstSuite.send(client, request, config);
      ExecutionResult result = BurstSuite.receive(client, limit);
      if (path != null) {
        path.expectSame(result);
      }
      // Whoever gave the memories closes them next.
      for (MemoryPool pool : request.pools()) {
        if (pool instanceof MemoryPool.Shared shared) {
          client.freeMemory(shared.memory());
        }
      }
      return result;
    }

    @Override
    public void close() {
      client.close();
      super.close();
    }
  }
}
