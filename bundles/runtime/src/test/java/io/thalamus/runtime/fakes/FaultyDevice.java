// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import java.util.BitSet;

/** Wraps a device, and fails where a test says so. */
public class FaultyDevice implements Device {
  private final Device inner;
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
    this.inner = inner;
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
  public DeviceInfo info() {
    return inner.info();
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    Support fault = support;
    return fault != null ? fault.answer(model) : inner.supportedOperations(model);
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    Prepare fault = prepare;
    if (fault != null) {
      fault.before(model);
    }
    PreparedModel prepared = inner.prepare(model, config);
    return new PreparedModel() {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig executionConfig) {
        Execute executeFault = execute;
        ExecutionResult instead =
            executeFault == null ? null : executeFault.instead(request, executionConfig);
        return instead != null ? instead : prepared.execute(request, executionConfig);
      }

      @Override
      public void close() {
        prepared.close();
      }
    };
  }
}
