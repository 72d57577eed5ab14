// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.execution;

import io.thalamus.api.ResultCode;
import io.thalamus.model.OutputShape;
import io.thalamus.runtime.StatusMapping;
import java.util.List;

/**
 * How a part of an execution ended. Immutable.
 *
 * @param code NO_ERROR, or what went wrong
 * @param message what went wrong, for people
 * @param outputs of the main graph, with OUTPUT_INSUFFICIENT_SIZE
 * @param isFinal whether repeating it elsewhere is pointless
 */
record Ending(ResultCode code, String message, List<OutputShape> outputs, boolean isFinal) {
  static final Ending DONE = new Ending(ResultCode.NO_ERROR, "", List.of(), true);

  /** A failure that another device may not have, unless it is one of time or room. */
  static Ending failed(ResultCode code, String message) {
    return new Ending(code, message, List.of(), StatusMapping.isMissedDeadline(code));
  }

  /** A failure that every device would have. */
  static Ending failedForGood(ResultCode code, String message) {
    return new Ending(code, message, List.of(), true);
  }

  static Ending insufficient(String message, List<OutputShape> outputs) {
    return new Ending(ResultCode.OUTPUT_INSUFFICIENT_SIZE, message, outputs, true);
  }

  boolean isDone() {
    return code == ResultCode.NO_ERROR;
  }
}
