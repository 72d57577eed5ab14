// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.Timing;
import java.time.Duration;
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
   * Returns an execution that is done.
   *
   * @param waited the time from the launch until the last fence signalled, which counts for the
   *     driver alone
   * @throws DeviceException where it has failed; with INVALID_ARGUMENT where an output is too small
   */
  public static FencedExecution ended(ExecutionResult result, Duration waited)
      throws DeviceException {
    return switch (result) {
      case ExecutionResult.Completed completed -> {
        Timing fenced = completed.timing();
        Timing launched = new Timing(fenced.onDevice(), fenced.inDriver().map(waited::plus));
        Info info = new Info(result, launched, fenced);
        yield new FencedExecution(SyncFence.signalled(), () -> info);
      }
      case ExecutionResult.OutputInsufficientSize _ ->
          throw DeviceException.invalid("an output buffer is too small");
      case ExecutionResult.Failed failed ->
          throw new DeviceException(failed.status(), failed.message(), failed.retryAfter(), null);
    };
  }

  /**
   * The outcome.
   *
   * @param result the result; a failure with GENERAL_FAILURE before the fence has signalled
   * @param timingLaunched from the launch on: the hardware's time is the same
   * @param timingFenced from the moment on at which the last fence signalled
   */
  public record Info(ExecutionResult result, Timing timingLaunched, Timing timingFenced) {
    public Info {
      Objects.requireNonNull(result, "result");
      Objects.requireNonNull(timingLaunched, "timingLaunched");
      Objects.requireNonNull(timingFenced, "timingFenced");
    }
  }
}
