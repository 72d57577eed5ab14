// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu.fault;

import io.thalamus.hal.BurstCallback;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import java.util.List;

/** A prepared model of a {@link FaultyDevice}. Thread-safe; owns the model within. */
final class FaultyPreparedModel implements PreparedModel {
  private final PreparedModel within;
  private final FaultInjector injector;
  private final int life;

  FaultyPreparedModel(PreparedModel within, FaultInjector injector, int life) {
    this.within = within;
    this.injector = injector;
    this.life = life;
  }

  PreparedModel within() {
    return within;
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    Strike strike = injector.beforeExecution(life, config);
    if (strike.failure() != null) {
      return strike.failure();
    }
    Request inner = FaultyBuffer.unwrap(request);
    if (strike.flips().isEmpty()) {
      return within.execute(inner, config);
    }
    try (Falsifier falsifier = Falsifier.hold(request, strike.flips())) {
      ExecutionResult result = within.execute(inner, config);
      if (result instanceof Completed && falsifier.flip()) {
        injector.falsified();
      }
      return result;
    }
  }

  @Override
  public FencedExecution executeFenced(
      Request request, List<SyncFence> waitFor, ExecutionConfig config) throws DeviceException {
    Strike strike = injector.beforeExecution(life, config);
    if (strike.failure() != null) {
      throw new DeviceException(strike.failure().status(), strike.failure().message());
    }
    Request inner = FaultyBuffer.unwrap(request);
    if (strike.flips().isEmpty()) {
      return within.executeFenced(inner, waitFor, config);
    }
    Falsifier falsifier = Falsifier.hold(request, strike.flips());
    try {
      FencedExecution execution = within.executeFenced(inner, waitFor, config);
      SyncFence fence = new SyncFence();
      FencedExecution falsified = new FencedExecution(fence, execution.executionInfo());
      execution.syncFence().future().whenComplete((_, failure) -> end(falsifier, fence, failure));
      return falsified;
    } catch (DeviceException e) {
      falsifier.close();
      throw e;
    }
  }

  private void end(Falsifier falsifier, SyncFence fence, Throwable failure) {
    try (falsifier) {
      if (failure == null && falsifier.flip()) {
        injector.falsified();
      }
    }
    if (failure == null) {
      fence.signal();
    } else if (failure instanceof DeviceException e) {
      fence.fail(e);
    } else {
      fence.fail(
          new DeviceException(ErrorStatus.GENERAL_FAILURE, "the execution has failed", failure));
    }
  }

  @Override
  public BurstContext configureExecutionBurst(
      BurstCallback callback, QueueDescriptor requestChannel, QueueDescriptor resultChannel)
      throws DeviceException {
    return within.configureExecutionBurst(callback, requestChannel, resultChannel);
  }

  @Override
  public void close() {
    within.close();
  }
}
