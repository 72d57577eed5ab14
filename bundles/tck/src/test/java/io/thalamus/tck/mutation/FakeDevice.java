// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.mutation;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.FencedExecution;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.PerformanceInfo;
import io.thalamus.model.Timing;
import java.util.BitSet;
import java.util.List;
import java.util.Map;

/**
 * A device that answers all the same: accepts every model and request, or refuses all but one model
 * with a status.
 */
final class FakeDevice implements Device {
  private final Model valid;
  private final ErrorStatus otherwise;

  private FakeDevice(Model valid, ErrorStatus otherwise) {
    this.valid = valid;
    this.otherwise = otherwise;
  }

  static FakeDevice acceptingAll() {
    return new FakeDevice(null, ErrorStatus.NONE);
  }

  static FakeDevice refusingAllBut(Model valid, ErrorStatus status) {
    return new FakeDevice(valid, status);
  }

  @Override
  public DeviceInfo info() {
    PerformanceInfo one = PerformanceInfo.of(1);
    return DeviceInfo.builder("thalamus-fake", "1")
        .capabilities(new Capabilities(one, one, Map.of(), one, one))
        .build();
  }

  private void check(Model model) throws DeviceException {
    if (valid != null && !model.main().equals(valid.main())) {
      throw new DeviceException(otherwise, "not this one");
    }
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    check(model);
    BitSet all = new BitSet();
    all.set(0, model.main().operations().size());
    return all;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    check(model);
    return new PreparedModel() {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig executionConfig) {
        return new ExecutionResult.Completed(List.of(), Timing.NONE);
      }

      @Override
      public FencedExecution executeFenced(
          Request request, List<SyncFence> waitFor, ExecutionConfig executionConfig) {
        return new FencedExecution(SyncFence.signalled(), () -> null);
      }

      @Override
      public void close() {
        // Holds nothing.
      }
    };
  }
}
