// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.tflite.file.FlatOperator;
import io.thalamus.tflite.file.Refusal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The operators of a graph that cannot be expressed: all of them are named. Not thread-safe. */
final class Refusals {
  private static final int MAX_SHOWN = 20;

  private final List<String> reasons = new ArrayList<>();
  private final Set<Integer> unknownTensors = new HashSet<>();
  private Exception first;

  /**
   * Returns true if an operator reads what a refused one would have written. It is not refused
   * itself: nobody knows yet.
   */
  boolean concern(FlatOperator operator) {
    if (unknownTensors.isEmpty()
        || Arrays.stream(operator.inputs()).noneMatch(unknownTensors::contains)) {
      return false;
    }
    Arrays.stream(operator.outputs()).forEach(unknownTensors::add);
    return true;
  }

  void add(FlatOperator operator, String reason, Exception cause) {
    first = first == null ? cause : first;
    reasons.add(reason);
    Arrays.stream(operator.outputs()).forEach(unknownTensors::add);
  }

  /** Throws an exception that names all operators, if there are any. */
  void check() {
    if (reasons.isEmpty()) {
      return;
    }
    if (reasons.size() == 1) {
      throw new Refusal(reasons.getFirst(), first);
    }
    int hidden = Math.max(0, reasons.size() - MAX_SHOWN);
    throw new Refusal(
        reasons.size()
            + " operators cannot be expressed: "
            + String.join("; ", reasons.subList(0, reasons.size() - hidden))
            + (hidden > 0 ? "; and " + hidden + " more" : ""),
        first);
  }
}
