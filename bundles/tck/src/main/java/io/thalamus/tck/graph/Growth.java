// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.model.OperandCode;
import io.thalamus.tck.graph.GraphDraft.Out;
import io.thalamus.tck.reference.Tensor;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;

/**
 * One operation on one type that is being added to a graph. Used by one thread for one try.
 *
 * @param operation NNAPI's name
 * @param type of the operation's data
 */
record Growth(GraphDraft graph, String operation, OperandCode type) {
  /** A tensor of the type that is there, of any rank, or a new one. */
  int pick() {
    return pick(1, 4);
  }

  int pick(int leastRank, int mostRank) {
    return graph.pick(type, leastRank, mostRank);
  }

  /** A tensor of the type that is there and fits, or a new one with values in a range. */
  int pick(Predicate<Tensor> fits, Range range) {
    return graph.pick(type, 1, 4, fits, range);
  }

  Tensor tensor(int index) {
    return graph.tensor(index);
  }

  Random random() {
    return graph.random();
  }

  /** Returns true once in so many times. */
  boolean oneIn(int times) {
    return random().nextInt(times) == 0;
  }

  int between(int low, int high) {
    return graph.between(low, high);
  }

  /** An INT32 in [low, high]. */
  int number(int low, int high) {
    return graph.int32(between(low, high));
  }

  /** A scalar of the float type, a number of quarters in [low, high]. */
  int quarters(int low, int high) {
    return graph.scalarFor(type, between(low, high) / 4.0);
  }

  /** An axis of a tensor, now and then counted from behind. */
  int axis(int rank) {
    int axis = between(0, rank - 1);
    return oneIn(4) ? axis - rank : axis;
  }

  /** An output of the type; not quantized, or as the type prescribes. */
  boolean add(Integer... inputs) {
    return add(List.of(inputs), new Out(type));
  }

  /** Adds the operation, unless its results are of no use. */
  boolean add(List<Integer> inputs, Out... outputs) {
    return graph.add(operation, inputs, outputs);
  }

  /** Adds the operation with an output that is quantized as a tensor is. */
  boolean addLike(int tensor, List<Integer> inputs) {
    return add(inputs, like(tensor));
  }

  boolean addLike(int tensor, Integer... inputs) {
    return addLike(tensor, List.of(inputs));
  }

  /** Adds the operation with the one quantization that NNAPI prescribes for quantized types. */
  boolean addUnit(List<Integer> inputs, int denominator, int zero) {
    return add(
        inputs,
        new Out(type, Quant.isQuantized(type) ? Quant.unit(type, denominator, zero) : Quant.NONE));
  }

  /** Adds the operation with an output quantized as the results need. */
  boolean addFitting(List<Integer> inputs) {
    return add(inputs, graph.fitting(operation, type, inputs));
  }

  Out like(int tensor) {
    return new Out(type, Quant.of(tensor(tensor)));
  }
}
