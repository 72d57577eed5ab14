// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

import io.thalamus.model.DeviceInfo;
import java.util.List;

/**
 * A step that was timed. Immutable.
 *
 * @param device on which it ran
 * @param operations of which it was made
 * @param bytes that came in and went out
 * @param nanos how long a call of it took
 */
public record StepObservation(DeviceInfo device, List<Part> operations, long bytes, double nanos) {
  public StepObservation {
    operations = List.copyOf(operations);
  }

  /**
   * An operation of a step.
   *
   * @param signature see {@link OperationSignature}
   * @param expected what was expected of it: its share where nothing better is known
   */
  public record Part(String signature, double expected) {}
}
