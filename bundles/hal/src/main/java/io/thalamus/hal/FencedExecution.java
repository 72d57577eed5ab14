// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.Timing;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * An execution that was launched behind fences.
 *
 * @param syncFence signals when the outputs are written
 * @param executionInfo the result and its timings once the fence has signalled
 */
public record FencedExecution(SyncFence syncFence, Supplier<Info> executionInfo) {
  public FencedExecution {
    Objects.requireNonNull(syncFence, "syncFence");
    Objects.requireNonNull(executionInfo, "executionInfo");
  }

  /**
   * The outcome.
   *
   * @param result the result; a failure with GENERAL_FAILURE before the fence has signalled
   * @param timingLaunched from the launch on
   * @param timingFenced from the last fence on
   */
  public record Info(ExecutionResult result, Timing timingLaunched, Timing timingFenced) {
    public Info {
      Objects.requireNonNull(result, "result");
      Objects.requireNonNull(timingLaunched, "timingLaunched");
      Objects.requireNonNull(timingFenced, "timingFenced");
    }
  }
}
