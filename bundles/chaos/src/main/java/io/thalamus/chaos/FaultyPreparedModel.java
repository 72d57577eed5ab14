// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import java.util.List;

/** A prepared model of a {@link FaultyDevice}. Thread-safe; owns the model within. */
final class FaultyPreparedModel extends DelegatingPreparedModel {
  private final FaultInjector injector;
  private final int life;

  FaultyPreparedModel(FaultyDevice device, PreparedModel within, FaultInjector injector, int life) {
    super(device, within);
    this.injector = injector;
    this.life = life;
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    FaultDecision decision = injector.beforeExecution(life, config);
    if (decision.failure() != null) {
      return decision.failure();
    }
    FaultyBuffer.Uses buffers = new FaultyBuffer.Uses(request, injector);
    Failed failure = buffers.beforeExecution();
    if (failure != null) {
      return failure;
    }
    try (BitFlipper flipper = BitFlipper.hold(request, decision.flips())) {
      ExecutionResult result = super.execute(buffers.request(), config);
      if (!(result instanceof Completed)) {
        return result;
      }
      failure = buffers.afterExecution();
      if (flipper.flip()) {
        injector.flipped();
      }
      return failure == null ? result : failure;
    }
  }

  @Override
  public FencedExecution executeFenced(
      Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
    FaultDecision decision = injector.beforeExecution(life, config);
    FaultyBuffer.Uses buffers = new FaultyBuffer.Uses(request, injector);
    Failed failure = decision.failure() == null ? buffers.beforeExecution() : decision.failure();
    if (failure != null) {
      throw new DeviceException(failure.status(), failure.message());
    }
    BitFlipper flipper = BitFlipper.hold(request, decision.flips());
    boolean isUnderWay = false;
    try {
      FencedExecution execution = super.executeFenced(buffers.request(), waitFor, config);
      SyncFence fence = new SyncFence();
      execution
          .syncFence()
          .future()
          .whenComplete((_, cause) -> end(flipper, buffers, fence, cause));
      isUnderWay = true;
      return new FencedExecution(fence, execution.executionInfo());
    } finally {
      if (!isUnderWay) {
        flipper.close();
      }
    }
  }

  /** Refuses: requests by burst are then executed one by one here, and meet the faults. */
  @Override
  public BurstContext configureExecutionBurst(BurstConfig config) throws DeviceException {
    throw DeviceException.failure(
        "a device with faults serves no burst itself: its requests are executed one by one");
  }

  private void end(
      BitFlipper flipper, FaultyBuffer.Uses buffers, SyncFence fence, Throwable cause) {
    Failed failure = cause == null ? buffers.afterExecution() : null;
    try (flipper) {
      if (cause == null && flipper.flip()) {
        injector.flipped();
      }
    }
    if (failure != null) {
      fence.fail(new DeviceException(failure.status(), failure.message()));
    } else if (cause == null) {
      fence.signal();
    } else if (cause instanceof DeviceException e) {
      fence.fail(e);
    } else {
      fence.fail(
          new DeviceException(ErrorStatus.GENERAL_FAILURE, "the execution has failed", cause));
    }
  }
}
