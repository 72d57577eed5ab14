// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Timing;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** A model that computes nothing and asks whether to stop; a chain takes its time. Thread-safe. */
final class LargeModel implements PreparedModel {
  private static final long STEP_NANOS = 5_000_000;

  private final boolean isLong;

  LargeModel(Model model) {
    isLong = model.main().operations().size() > 1;
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    for (int i = 0; i < 10; i++) {
      LockSupport.parkNanos(isLong ? STEP_NANOS : 0);
      switch (config.control().checkpoint()) {
        case CONTINUE -> {}
        case CANCELLED -> {
          return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, "cancelled");
        }
        case DEADLINE -> {
          return new ExecutionResult.Failed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "late");
        }
      }
    }
    return new ExecutionResult.Completed(List.of(), Timing.NONE);
  }

  @Override
  public void close() {}
}
