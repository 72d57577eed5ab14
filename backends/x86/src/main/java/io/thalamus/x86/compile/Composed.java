// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.compile;

import io.thalamus.driver.ReducedCells;
import io.thalamus.model.Shape;
import io.thalamus.x86.compile.ElementChain.Tensor;
import io.thalamus.x86.kernel.Mapped.Kind;
import io.thalamus.x86.kernel.Pair;
import io.thalamus.x86.kernel.Reducing;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A tensor of floats, of three dimensions, and what becomes of the middle one: the steps that some
 * operations are made of. A result of a step stands in a new place unless one is given; what no
 * later step needs leaves its place to others.
 */
record Composed(ReducedCells cells, ProgramBuilder program) {
  /** Calls of a step between a tensor and one with a single cell. */
  private static final int MOST_OUTER = 1 << 12;

  private static final Shape ONE = Shape.of(1);

  /** The middle dimension of a shape is that of an axis. */
  static ReducedCells cells(Shape shape, int axis) {
    return ReducedCells.of(shape, new int[] {axis}).orElseThrow();
  }

  static boolean isPossible(ReducedCells cells) {
    return Reduction.isPossible(cells) && (cells.inner() == 1 || cells.outer() < MOST_OUTER);
  }

  private Tensor whole(Place place) {
    return new Tensor(place, Shape.of(cells.outer(), cells.reduced(), cells.inner()));
  }

  private Tensor reduced(Place place) {
    return new Tensor(place, Shape.of(cells.outer(), 1, cells.inner()));
  }

  Place newWhole() {
    return program.place((long) cells.outer() * cells.reduced() * cells.inner() * Float.BYTES);
  }

  private Place newReduced() {
    return program.place((long) cells.outer() * cells.inner() * Float.BYTES);
  }

  Place reduce(Reducing kind, Place from) {
    Place to = newReduced();
    Reduction.reduce(kind, cells, from, to, program);
    program.nextStep();
    return to;
  }

  /** A function of a whole tensor and of a reduced one. */
  void spread(Pair pair, Place whole, Place reduced, Place to) {
    Elementwise.pairs(pair, whole(whole), reduced(reduced), whole(to), program);
    program.nextStep();
  }

  /** A function of two whole tensors. */
  void whole(Pair pair, Place first, Place second, Place to) {
    Elementwise.pairs(pair, whole(first), whole(second), whole(to), program);
    program.nextStep();
  }

  /** A function of a tensor, whole or reduced, and of a number. */
  Place with(Pair pair, Place from, float number) {
    Place to = program.place(from.bytes());
    with(pair, from, number, to);
    return to;
  }

  /** A function of a tensor, whole or reduced, and of a number. */
  void with(Pair pair, Place from, float number, Place to) {
    Shape shape = Shape.of((int) (from.bytes() / Float.BYTES));
    byte[] bytes =
        ByteBuffer.allocate(Float.BYTES).order(ByteOrder.LITTLE_ENDIAN).putFloat(number).array();
    Place constant = program.constantPlace(bytes);
    Elementwise.pairs(
        pair, new Tensor(from, shape), new Tensor(constant, ONE), new Tensor(to, shape), program);
    program.nextStep();
  }

  /** A function of the floats of a tensor, whole or reduced. */
  Place map(Kind kind, Place from) {
    Place to = program.place(from.bytes());
    Elementwise.map(kind, from, to, program);
    program.nextStep();
    return to;
  }
}
