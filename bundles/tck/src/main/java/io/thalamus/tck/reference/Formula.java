// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.reference;

import java.util.List;

/** The computation of one operation. */
@FunctionalInterface
interface Formula {
  /**
   * The outputs, in order.
   *
   * @throws UnsupportedOperationException where the formula does not cover what is asked
   */
  List<Result> evaluate(Call call);

  /** A formula with one output. */
  static Formula single(One formula) {
    return call -> List.of(formula.evaluate(call));
  }

  /** The computation of an operation of one output. */
  @FunctionalInterface
  interface One {
    Result evaluate(Call call);
  }
}
