// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.crash;

import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.PerformanceInfo;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/**
 * A device that claims everything, promises to be faster than any other, and writes through a bad
 * pointer when it executes. Stateless. Never to be started outside of a process of its own.
 */
public final class CrashDevice implements Device {
  private static final long NOWHERE = 64;

  /** Called by the component runtime. */
  public CrashDevice() {
    // It needs nothing.
  }

  @Override
  public DeviceInfo info() {
    PerformanceInfo fast = PerformanceInfo.of(0.01f);
    Map<OperandType, PerformanceInfo> all = new HashMap<>();
    for (OperandCode code : OperandCode.values()) {
      if (code != OperandCode.SUBGRAPH) {
        all.put(code, fast);
      }
    }
    return DeviceInfo.builder("test-crash", "1.0.0")
        .type(DeviceType.ACCELERATOR)
        .capabilities(new Capabilities(fast, fast, all, fast, fast))
        .exactQuantized(true)
        .build();
  }

  @Override
  public BitSet supportedOperations(Model model) {
    BitSet all = new BitSet();
    all.set(0, model.main().operations().size());
    return all;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) {
    return new PreparedModel() {
      @Override
      public ExecutionResult execute(Request request, ExecutionConfig execution) {
        return crash();
      }

      @Override
      public void close() {
        // It holds nothing.
      }
    };
  }

  @SuppressWarnings("restricted") // That is what it is for.
  private static ExecutionResult crash() {
    MemorySegment.ofAddress(NOWHERE).reinterpret(Long.BYTES).set(ValueLayout.JAVA_LONG, 0, 1);
    throw new IllegalStateException("it could write there");
  }
}
