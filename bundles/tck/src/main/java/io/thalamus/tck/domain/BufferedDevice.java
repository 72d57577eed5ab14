// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.domain;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Subgraph;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A device whose executions all have their arguments in buffers of the device within: whatever runs
 * on it tries these as well. Thread-safe; borrows the device.
 *
 * <p>An argument that the device has no buffer for, as it is of unknown size or type, stays where
 * the caller put it; they are counted.
 */
public final class BufferedDevice extends DelegatingDevice {
  private final AtomicLong buffers = new AtomicLong();

  public BufferedDevice(Device within) {
    super(within);
  }

  /** Returns how many arguments stood in buffers so far. */
  public long buffers() {
    return buffers.get();
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    return new Buffered(super.prepare(model, config), model.main());
  }

  /** A prepared model that copies its arguments into buffers and its results out of them. */
  private final class Buffered extends DelegatingPreparedModel {
    private final Subgraph graph;

    Buffered(PreparedModel prepared, Subgraph graph) {
      super(BufferedDevice.this, prepared);
      this.graph = graph;
    }

    private BufferedRequest copyIn(Request request) throws DeviceException {
      BufferedRequest copied =
          BufferedRequest.of(BufferedDevice.this.delegate(), delegate(), graph, request);
      buffers.addAndGet(copied.buffers());
      return copied;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      try (BufferedRequest copied = copyIn(request)) {
        ExecutionResult result = delegate().execute(copied.request(), config);
        if (result instanceof Completed) {
          copied.copyOut();
        }
        return result;
      } catch (DeviceException e) {
        return new Failed(e.status(), e.getMessage());
      }
    }

    @Override
    public FencedExecution executeFenced(
        Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
      try (BufferedRequest copied = copyIn(request)) {
        FencedExecution execution = delegate().executeFenced(copied.request(), waitFor, config);
        try {
          execution.syncFence().future().join();
        } catch (CompletionException e) {
          throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the fence failed", e);
        }
        if (execution.executionInfo().get().result() instanceof Completed) {
          copied.copyOut();
        }
        return execution;
      }
    }
  }
}
