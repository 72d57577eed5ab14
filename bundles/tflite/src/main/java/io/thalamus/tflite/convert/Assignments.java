// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;

/**
 * The operands that stand for tensors, in the order of their assignment, so that the latest can be
 * taken back. Not thread-safe.
 */
final class Assignments {
  private final Map<Integer, Integer> operands = new HashMap<>();
  private final List<Integer> order = new ArrayList<>();

  /** Returns the operand of a key; null where it has none. */
  Integer get(int key) {
    return operands.get(key);
  }

  boolean contains(int key) {
    return operands.containsKey(key);
  }

  /** Assigns an operand to a key that has none. */
  void put(int key, int operand) {
    operands.put(key, operand);
    order.add(key);
  }

  /** Assigns another operand to a key that has one. */
  void replace(int key, int operand) {
    operands.replace(key, operand);
  }

  int size() {
    return order.size();
  }

  /** Takes back all assignments but the first ones. */
  void truncate(int size) {
    while (order.size() > size) {
      operands.remove(order.removeLast());
    }
  }

  /** Takes back the assignments of all keys but some. */
  void retain(IntPredicate kept) {
    order.removeIf(key -> !kept.test(key));
    operands.keySet().removeIf(key -> !kept.test(key));
  }
}
