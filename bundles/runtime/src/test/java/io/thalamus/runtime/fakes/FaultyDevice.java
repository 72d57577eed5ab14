// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.hal.DelegatingDevice;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Model;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;

/** Wraps a device, and fails where a test says so. */
public class FaultyDevice extends DelegatingDevice {
  private volatile Support support;
  private volatile Prepare prepare;
  private volatile Execute execute;

  /** Answers in the place of the device. */
  @FunctionalInterface
  public interface Support {
    BitSet answer(Model model) throws DeviceException;
  }

  /** Is called before the device prepares. */
  @FunctionalInterface
  public interface Prepare {
    void before(Model model) throws DeviceException;
  }

  /** Is called before the device executes; its result is returned where it is not null. */
  @FunctionalInterface
  public interface Execute {
    ExecutionResult instead(Request request, ExecutionConfig config);
  }

  public FaultyDevice(Device inner) {
    super(inner);
  }

  public FaultyDevice onSupport(Support fault) {
    support = fault;
    return this;
  }

  public FaultyDevice onPrepare(Prepare fault) {
    prepare = fault;
    return this;
  }

  public FaultyDevice onExecute(Execute fault) {
    execute = fault;
    return this;
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    Support fault = support;
    return fault != null ? fault.answer(model) : super.supportedOperations(model);
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    Prepare fault = prepare;
    if (fault != null) {
      fault.before(model);
    }
    return new DelegatingPreparedModel(this, super.prepare(model, config)) {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig executionConfig) {
        Execute executeFault = execute;
        ExecutionResult instead =
            executeFault == null ? null : executeFault.instead(request, executionConfig);
        return instead != null ? instead : super.execute(request, executionConfig);
      }

      @Override
      public FencedExecution executeFenced(
          Request request, List<SyncFence> waitFor, ExecutionConfig executionConfig)
          throws DeviceException {
        SyncFence.await(waitFor, executionConfig);
        return FencedExecution.ended(execute(request, executionConfig.fromNowOn()), Duration.ZERO);
      }
    };
  }
}
