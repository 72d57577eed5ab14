// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.driver.WorkMeter;
import io.thalamus.model.Shape;

/** The lines of a tensor's elements along one axis. */
record Lines(long outer, long size, long inner) {
  static Lines of(Shape shape, int axis) {
    long outer = 1;
    long inner = 1;
    for (int i = 0; i < shape.rank(); i++) {
      outer *= i < axis ? shape.dimension(i) : 1;
      inner *= i > axis ? shape.dimension(i) : 1;
    }
    return new Lines(outer, shape.dimension(axis), inner);
  }

  /** Receives the first element of a line, one behind its last, and the distance of two. */
  @FunctionalInterface
  interface Visitor {
    void visit(long first, long end, long step);
  }

  void forEach(WorkMeter work, Visitor visitor) {
    for (long i = 0; i < outer; i++) {
      for (long j = 0; j < inner; j++) {
        long first = i * size * inner + j;
        work.done(size);
        visitor.visit(first, first + size * inner, inner);
      }
    }
  }
}
